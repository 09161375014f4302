/** Chats with tools, files and several users. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import { call, say, script, tools } from '../../chats/chats.ts'
import { pairedComputer } from '../../makers.ts'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes, PATIENCE_MS } from '../../until.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()
const environment = { UK_SIM: 'on' }

const log = (page: Page) => page.getByRole('log', { name: 'Messages' })
const field = (page: Page) => page.getByRole('textbox', { name: 'Message' })

test(
  'tool calls wait for approval, which can be given once, denied, or given for the chat and revoked',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment })
    const alice = await server.person('Alice')
    const agent = await alice.post('/agents', {
      name: 'Worker',
      model: 'sim/script',
      tools: tools({ 'chats.create': 'ask' }),
    })
    const chat = (await alice.post('/chats', { title: 'Asked', agent_id: agent.body.data.id })).body.data
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, alice)
    await page.goto(`/app/chats/${chat.id}`)
    await field(page).fill(
      script(
        [say('May I? '), call('chats_create', { title: 'allowed' }), call('chats_create', { title: 'denied' })],
        [say('Thanks for that.')],
      ),
    )
    await page.keyboard.press('Enter')
    const answer = log(page)
      .getByRole('article', { name: /^Worker/ })
      .first()
    await answer.getByRole('button', { name: /^Deny/ }).nth(1).waitFor()
    // Typing in a field decides nothing.
    await field(page).press('y')
    await becomes(() => answer.getByRole('button', { name: /^Allow/ }).count(), 2)
    await field(page).fill('')
    await field(page).blur()
    // Neither does the second letter of a page shortcut.
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await page.getByRole('heading', { level: 1, name: 'Automations' }).waitFor()
    assert.deepEqual((await alice.get(`/chats/${chat.id}/approvals`)).body.data, [])
    await page.goBack()
    await answer.getByRole('button', { name: /^Deny/ }).nth(1).waitFor()
    await field(page).blur()
    await page.keyboard.press('y')
    await answer.getByRole('button', { name: /^Deny/ }).nth(1).waitFor({ state: 'detached' })
    await answer.getByRole('button', { name: /^Deny/ }).press('Enter')
    await log(page).getByText('Thanks for that.', { exact: true }).waitFor()
    await becomes(() => answer.getByText('done', { exact: true }).count(), 1)
    await becomes(() => answer.getByText('failed', { exact: true }).count(), 1)
    await answer.getByText('chats_create').first().click()
    await answer.getByText('"title": "allowed"').first().waitFor()
    const titles = (await alice.get('/chats')).body.data.map(({ title }: { title: string }) => title)
    assert.deepEqual([titles.includes('allowed'), titles.includes('denied')], [true, false])

    const twice = (name: string) => script([call('chats_create', { title: name })], [say(`Made ${name}.`)])
    await field(page).fill(twice('first'))
    await page.keyboard.press('Enter')
    await log(page)
      .getByRole('button', { name: /^Always allow/ })
      .press('Enter')
    await log(page).getByText('Made first.', { exact: true }).waitFor()
    const allowed = page.getByRole('button', { name: '1 tool allowed without approval' })
    await allowed.waitFor()
    await field(page).fill(twice('second'))
    await page.keyboard.press('Enter')
    await log(page).getByText('Made second.', { exact: true }).waitFor()
    await allowed.click()
    await page.getByRole('menuitem', { name: 'Ask before chats.create' }).click()
    await allowed.waitFor({ state: 'detached' })
    assert.deepEqual(visitor.wrongs, [])
  },
)

test('two users in a chat see the same messages and files', needs(hasChromium, 'Chromium'), async () => {
  await using server = await testServer({ environment })
  const alice = await server.person('Alice')
  const ben = await server.person('Ben')
  await alice.post(`/admin/accounts/${ben.id}/credits`, { amount_usd: 5, note: 'to talk' })
  const shop = (await alice.post('/workspaces', { name: 'Print shop' })).body.data
  const invited = (await alice.post(`/workspaces/${shop.id}/invitations`, { email: ben.email })).body.data
  await ben.post('/invitations/accept', { token: invited.token })
  const given = { title: 'Ours', model: 'sim/echo', workspace_id: shop.id }
  const chat = (await alice.post('/chats', given)).body.data
  await using hers = await visit(browser(), server.origin)
  await using his = await visit(browser(), server.origin)
  const streams = new Set<Request>()
  hers.context.on('request', (request) => request.url().includes('/realtime/subscribe') && streams.add(request))
  const over = (request: Request): boolean => streams.delete(request)
  hers.context.on('requestfinished', over)
  hers.context.on('requestfailed', over)
  await signIn(hers.page, alice)
  await signIn(his.page, ben)
  for (const { page } of [hers, his]) {
    await page.goto(`/app/chats/${chat.id}`)
    await page.getByText('No messages yet.').waitFor()
  }
  await hers.page
    .locator('input[type=file]')
    .setInputFiles({ name: 'prices.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n') })
  await hers.page.getByRole('list', { name: 'Attached files' }).getByText('prices.csv').waitFor()
  await hers.page.getByText('uploading …').waitFor({ state: 'detached' })
  await field(hers.page).fill('What does it say?')
  await hers.page.getByRole('button', { name: 'Send (Enter)' }).click()
  for (const { page } of [hers, his]) {
    await log(page).getByRole('link', { name: 'prices.csv' }).waitFor()
    await log(page)
      .getByRole('article', { name: /^sim\/echo, message/ })
      .waitFor()
  }
  await log(his.page)
    .getByRole('article', { name: /^Alice/ })
    .waitFor()
  await field(his.page).fill('Nothing much.')
  await his.page.keyboard.press('Enter')
  // His message and its echo.
  await log(hers.page).getByText('Nothing much.').nth(1).waitFor()

  // Three windows use one connection each: browsers allow six per origin.
  for (const [path, said] of [
    ['/app/computers', 'Connect your own computer'],
    ['/app/developer/webhooks', 'No webhooks yet'],
  ] as const) {
    const window = await hers.context.newPage()
    window.setDefaultTimeout(PATIENCE_MS)
    await window.goto(path)
    await window.getByText(said).waitFor()
  }
  const [, computers, webhooks] = hers.context.pages()
  await pairedComputer(alice, { name: 'Print room' })
  const hook = {
    workspace_id: alice.workspaceId,
    name: 'Till',
    url: 'https://till.example.com/hook',
    events: ['file.*'],
  }
  assert.equal((await alice.post('/webhook-endpoints', hook)).status, 201)
  await computers!.getByRole('link', { name: 'Print room' }).waitFor()
  await webhooks!.getByRole('link', { name: 'Till' }).waitFor()
  await field(his.page).fill('Sold out.')
  await his.page.keyboard.press('Enter')
  await log(hers.page).getByText('Sold out.').nth(1).waitFor()
  assert.equal(streams.size, 3)
  assert.deepEqual([...hers.wrongs, ...his.wrongs], [])
})
