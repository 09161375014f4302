/** A message sent right after changing the model, agent or branch uses that choice, for every way to send it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { needs } from '../../needs.ts'
import { type Person, type TestServer, testServer } from '../../server.ts'
import { until } from '../../until.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

// Hooks run in order: this one must end before the browser closes.
const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())
const browser = sharedBrowser()
let server: TestServer
let alice: Person
before(async () => {
  if (!hasChromium) return
  server = stack.use(await testServer({ environment: { UK_SIM: 'on' } }))
  alice = await server.person('Alice')
})
const field = (page: Page) => page.getByRole('textbox', { name: 'Message' })
const log = (page: Page) => page.getByRole('log', { name: 'Messages' })
/** `sim/echo` repeats the message, `sim/script` answers with the word in it. */
const said = (word: string): string => JSON.stringify({ steps: [{ text: word }] })

async function choose(page: Page, name: 'echo' | 'script'): Promise<void> {
  await page.getByRole('button', { name: /^Model/ }).click()
  await page.getByRole('combobox', { name: 'Search models' }).fill(name)
  await page.getByRole('option', { name: new RegExp(`sim/${name}`) }).click()
}

/** Delays every update of the chat until released. */
async function hold(page: Page) {
  const waiting: Route[] = []
  let holds = true
  await page.route(
    (url) => /\/v1\/chats\/\w{26}$/.test(url.pathname),
    (route) => (holds && route.request().method() === 'PATCH' ? void waiting.push(route) : route.continue()),
  )
  return {
    held: () => waiting.length,
    async refuse(error: object) {
      for (const route of waiting.splice(0)) await route.fulfill({ status: 409, json: { error } })
    },
    async letGo() {
      holds = false
      for (const route of waiting.splice(0)) await route.continue()
    },
  }
}

/** The ways to send a message or retry one. `word` appears in the response. */
const ways: Record<string, (page: Page, word: string) => Promise<void>> = {
  'by Enter': async (page, word) => {
    await field(page).fill(said(word))
    await field(page).press('Enter')
  },
  'by the button': async (page, word) => {
    await field(page).fill(said(word))
    await page.getByRole('button', { name: 'Send (Enter)' }).click()
  },
  'as an edit': async (page, word) => {
    await log(page).getByRole('button', { name: 'More actions for this message by You' }).last().press('Enter')
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    await field(page).fill(said(word))
    await field(page).press('Enter')
  },
  'by another try': async (page) => {
    await log(page)
      .getByRole('button', { name: /^More actions for this message by (?!You)/ })
      .last()
      .press('Enter')
    await page.getByRole('menuitem', { name: 'Retry' }).click()
  },
}

for (const [way, send] of Object.entries(ways))
  test(
    `a message sent ${way} carries the model that was chosen just before`,
    needs(hasChromium, 'Chromium'),
    async () => {
      const chat = (await alice.post('/chats', { title: 'Choosing', model: 'sim/echo' })).body.data.id
      assert.equal((await alice.post(`/chats/${chat}/messages`, { content: said('before') })).status, 200)
      const runs = async (): Promise<{ model: string; status: string }[]> =>
        (await alice.get(`/chats/${chat}/runs?limit=20`)).body.data
      await using visitor = await visit(browser(), server.origin)
      const { page } = visitor
      await signIn(page, alice)
      await page.goto(`/app/chats/${chat}`)
      await log(page).getByText('before').first().waitFor()
      const { held, letGo } = await hold(page)
      await choose(page, 'script')
      await page.getByRole('button', { name: 'Model: sim/script' }).waitFor()
      await send(page, 'after')
      const [newest] = await until(runs, (all) => all.length === 2 && all[0]!.status === 'completed')
      assert.equal(newest!.model, 'sim/script')
      assert.equal(held(), 1, 'the choice itself is still on its way')
      await letGo()
      await until(
        async () => (await alice.get(`/chats/${chat}`)).body.data.model,
        (model) => model === 'sim/script',
      )
      assert.deepEqual(visitor.wrongs, [])
    },
  )

test('the last of two choices wins, and a failed run is retried with it', needs(hasChromium, 'Chromium'), async () => {
  const chat = (await alice.post('/chats', { title: 'Choosing', model: 'sim/script' })).body.data.id
  // Fails with `sim/script`, succeeds with `sim/echo`.
  const failing = JSON.stringify({ steps: [{ error: { type: 'bad_request', message: 'Not this one.' } }] })
  assert.ok((await alice.post(`/chats/${chat}/messages`, { content: failing, model: 'sim/script' })).status >= 400)
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await signIn(page, alice)
  await page.goto(`/app/chats/${chat}`)
  await page.getByText('Not this one.').last().waitFor()
  const { letGo } = await hold(page)
  await choose(page, 'script')
  await choose(page, 'echo')
  await page.getByRole('button', { name: 'Model: sim/echo' }).waitFor()
  await page.getByRole('button', { name: 'Retry' }).press('Enter')
  await until(
    async () => (await alice.get(`/chats/${chat}/runs`)).body.data[0],
    ({ model, status }) => model === 'sim/echo' && status === 'completed',
  )
  await letGo()
  await until(
    async () => (await alice.get(`/chats/${chat}`)).body.data.model,
    (model) => model === 'sim/echo',
  )
})

test(
  'a message waits for a pending agent choice and is not sent if the server rejects it',
  needs(hasChromium, 'Chromium'),
  async () => {
    const agent = (await alice.post('/agents', { name: 'Scribe', model: 'sim/script' })).body.data.id
    const chat = (await alice.post('/chats', { title: 'Choosing' })).body.data.id
    const runs = async (): Promise<{ model: string; status: string }[]> =>
      (await alice.get(`/chats/${chat}/runs`)).body.data
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, alice)
    await page.goto(`/app/chats/${chat}`)
    const pick = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: /agent/i }).first().click()
      await page.getByRole('menuitem', { name }).click()
    }
    const { held, letGo } = await hold(page)
    await pick('Scribe')
    await field(page).fill(said('from the agent'))
    await field(page).press('Enter')
    await until(
      async () => held(),
      (count) => count === 1,
    )
    assert.deepEqual(await runs(), [])
    await letGo()
    const [run] = await until(runs, ([first]) => first?.status === 'completed')
    assert.equal(run!.model, 'sim/script')

    // Rejected choice: the text returns to the field.
    await page.unrouteAll()
    const again = await hold(page)
    await pick('No agent (model only)')
    await field(page).fill('Not sent')
    await field(page).press('Enter')
    await until(
      async () => again.held(),
      (count) => count === 1,
    )
    await until(
      () => field(page).inputValue(),
      (words) => words === '',
    )
    await again.refuse({ type: 'conflict', code: 'invalid_state', message: 'It is gone.' })
    await page.getByText('It is gone.').first().waitFor()
    await until(
      () => field(page).inputValue(),
      (words) => words === 'Not sent',
    )
    assert.equal((await runs()).length, 1)
    assert.equal((await alice.get(`/chats/${chat}`)).body.data.agent_id, agent)
  },
)
