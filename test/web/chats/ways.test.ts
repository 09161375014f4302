// Thorough: run by the merge check, or by name.
/** Goals, agents, search, forks, cost and voice. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { script } from '../../chats/chats.ts'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes, until } from '../../until.ts'
import { breaches } from '../axe.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { screenReaderOrder } from '../screen-reader.ts'
import { signIn } from '../steps.ts'
import { longChat } from './long-chat.ts'

const browser = sharedBrowser()

test('goals, agents, search, forks, cost and voice work in a chat', needs(hasChromium, 'Chromium'), async () => {
  await using server = await testServer({ environment: { UK_SIM: 'on' } })
  const alice = await server.person('Alice')
  await alice.post('/agents', { name: 'Clerk', model: 'sim/echo' })
  const shop = (await alice.post('/workspaces', { name: 'Print shop' })).body.data
  const chat = (await alice.post('/chats', { title: 'Ways', model: 'sim/script' })).body.data
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await signIn(page, alice)
  await page.goto(`/app/chats/${chat.id}`)
  const log = page.getByRole('log', { name: 'Messages' })
  const field = page.getByRole('textbox', { name: 'Message' })
  const menu = async (item: string) => {
    await page.getByRole('button', { name: 'More actions for this chat' }).click()
    await page.getByRole('menuitem', { name: item, exact: true }).click()
  }

  await menu('Set goal')
  await page.getByRole('button', { name: 'Set goal', exact: true }).click()
  // The error appears at the field.
  await page.getByLabel('Goal', { exact: true }).and(page.locator('[aria-invalid=true]')).waitFor()
  await page.getByLabel('Goal', { exact: true }).fill(script({ text: 'At work. ' }, { delay_ms: 60_000 }))
  await page.getByLabel('Max. turns').fill('3')
  await page.getByRole('button', { name: 'Set goal', exact: true }).click()
  const goal = page.getByRole('region', { name: 'Goal' })
  await goal.getByText('active').waitFor()
  await log.getByText('At work.', { exact: true }).waitFor()
  await becomes(() => goal.getByRole('meter').getAttribute('aria-valuetext'), /of 3/)
  assert.deepEqual(await breaches(page), [])
  await goal.getByRole('button', { name: 'Stop goal' }).click()
  await goal.waitFor({ state: 'detached' })
  await page.getByText('The response was stopped.').waitFor()
  assert.equal((await alice.get(`/chats/${chat.id}/goal`)).body.data.status, 'ended')

  await page.getByRole('button', { name: /^No agent/ }).click()
  await page.getByRole('menuitem', { name: 'Clerk' }).click()
  await page.getByRole('button', { name: /^Agent: Clerk/ }).waitFor()
  await page.getByRole('button', { name: /^Model/ }).click()
  await page.getByRole('combobox', { name: 'Search models' }).fill('echo')
  await page.getByRole('option', { name: /sim\/echo/ }).click()
  // The chat uses the agent once its name is shown.
  await page.getByRole('button', { name: /^Model: sim\/echo/ }).waitFor()
  await field.fill('Which view sells best?')
  await page.keyboard.press('Enter')
  await log.getByRole('article', { name: 'Clerk, message' }).last().getByText('Which view sells best?').waitFor()

  // The screen reader order: title, messages, composer.
  const order = await screenReaderOrder(page, ['heading', 'log', 'article', 'textbox'])
  const from = order.indexOf('heading Ways')
  assert.deepEqual(
    order.slice(from).map((one) => one.replace('StaticText', '')),
    [
      'heading Ways',
      'log Messages',
      'article You, message',
      'article Clerk, message',
      'article You, message',
      'article Clerk, message',
      'textbox Message',
    ],
  )

  await page.getByRole('button', { name: 'Record a message' }).click()
  await page.getByRole('timer', { name: 'Recording' }).waitFor()
  await page.waitForTimeout(1_200)
  await page.getByRole('button', { name: 'Transcribe recording' }).click()
  await until(
    () => field.inputValue(),
    (words) => words !== '',
  )
  await field.fill('')
  const answer = log.getByRole('article', { name: 'Clerk, message' }).last()
  await answer.hover()
  await answer.getByRole('button', { name: /^More/ }).press('Enter')
  await page.getByRole('menuitem', { name: 'Read aloud' }).click()
  await answer.getByText('Reading aloud').waitFor()
  await answer.getByRole('button', { name: 'Stop' }).press('Enter')
  await answer.getByText('Reading aloud').waitFor({ state: 'detached' })

  await menu('Pin')
  await until(
    async () => (await alice.get('/app/chat-pins')).body.data.length,
    (count) => count === 1,
  )
  await menu('Share')
  await page.getByLabel('Email').fill('ben@example.com')
  await page.getByRole('button', { name: 'Share chat' }).click()
  await page.getByRole('list', { name: 'Shared with' }).getByText('ben@example.com', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await menu('View cost')
  await page.getByRole('table', { name: 'By model' }).getByText('sim/echo').waitFor()
  await page.keyboard.press('Escape')
  const question = log.getByRole('article', { name: 'You, message' }).last()
  await question.hover()
  await question.getByRole('button', { name: /^More/ }).click()
  await page.getByRole('menuitem', { name: 'Fork from here' }).click()
  await page.getByRole('dialog').getByLabel('Workspace').selectOption({ label: 'Print shop' })
  await page.getByRole('button', { name: 'Fork chat', exact: true }).click()
  await page.waitForURL((url) => !url.pathname.endsWith(chat.id))
  await log.getByRole('article').last().getByText('Which view sells best?').waitFor()
  const [forked] = (await alice.get(`/chats?workspace_id=${shop.id}`)).body.data
  assert.equal(forked.forked_from.chat_id, chat.id)

  const long = await longChat(server, alice, 400)
  await page.goto(`/app/chats/${long}`)
  await log.getByText('Number 400.').waitFor()
  await page.keyboard.press('Control+f')
  await page.getByRole('searchbox', { name: 'Find in this chat' }).fill('number 33.')
  await page.getByText('1 of 1').waitFor()
  await log.getByText('Number 33.').waitFor()
  assert.equal(await page.evaluate<number>(`CSS.highlights.get('found').size`), 1)
  await page.keyboard.press('Escape')
  await page.getByRole('searchbox').waitFor({ state: 'detached' })
  // Leaving the page before the microphone starts records nothing.
  await page.evaluate(`{
      const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
      navigator.mediaDevices.getUserMedia = async (wish) => {
        globalThis.given = await ask(wish)
        await new Promise((allow) => { globalThis.allow = allow })
        return given
      }
    }`)
  await page.getByRole('button', { name: 'Record a message' }).click()
  // `waitForFunction` evaluates in the page, which the policy blocks.
  await until(() => page.evaluate<boolean>('globalThis.allow !== undefined'), Boolean)
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Chats', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Chats' }).waitFor()
  await page.evaluate('allow()')
  await until(
    () => page.evaluate<boolean>(`given.getTracks().every(({ readyState }) => readyState === 'ended')`),
    Boolean,
  )
  await page.getByRole('list', { name: 'Pinned' }).getByRole('link', { name: 'Ways' }).waitFor()
  // A rejected first message isn't lost.
  const error = { code: 'rate_limited', message: 'Too much at once.', type: 'rate_limit' }
  await page.route('**/messages/stream', (route) => route.fulfill({ status: 429, json: { error } }))
  await field.fill('Which paper, then?')
  await page.keyboard.press('Enter')
  await page.getByText('Too much at once.').waitFor()
  await page.waitForURL('**/app/chats/*')
  await until(
    () => field.inputValue(),
    (words) => words === 'Which paper, then?',
  )
  assert.deepEqual(visitor.wrongs, [])
})
