// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { type IncomingMessage, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes } from '../../until.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()

/** A webhook receiver with scripted responses. */
async function receiver() {
  const heard: IncomingMessage['headers'][] = []
  const state = { status: 500 }
  const server = createServer((request, response) => {
    heard.push(request.headers)
    request.resume().on('end', () => response.writeHead(state.status).end(`answered ${state.status}`))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    heard,
    state,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('webhooks, the playground, the request log and usage work together', needs(hasChromium, 'Chromium'), async () => {
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.0/8', UK_SIM: 'on' } })
  await using hook = await receiver()
  const aki = await server.person('Aki')
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await signIn(page, aki)

  // Webhook: create, test, fail, resend.
  await page.goto('/app/developer/webhooks')
  await page.getByText('No webhooks yet').waitFor()
  await page.getByRole('button', { name: 'Create webhook' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Till')
  await dialog.getByLabel('URL').fill('not an address')
  await dialog.getByLabel('All events you can read').uncheck()
  await dialog.getByLabel('Search events').fill('run.failed')
  await dialog.getByLabel(/^run\.failed/).check()
  await dialog.getByRole('button', { name: 'Create webhook' }).click()
  await dialog.locator('input[aria-invalid=true]').fill(hook.url)
  await dialog.getByRole('button', { name: 'Create webhook' }).click()
  await becomes(() => page.getByTestId('secret').innerText(), /^whsec_/)
  await page.getByRole('button', { name: 'I’ve stored it' }).click()
  await page.getByRole('link', { name: 'Till' }).click()
  await page.getByRole('heading', { level: 1, name: 'Till' }).waitFor()
  assert.ok(!(await page.content()).includes('whsec_'))
  await page.getByRole('button', { name: 'Send test event' }).click()
  const delivery = page.getByRole('listitem').filter({ hasText: 'webhook.test' })
  await delivery.getByText(/1 attempt · 500 in/).waitFor()
  await delivery.getByRole('button', { name: /^webhook\.test/ }).click()
  await becomes(() => page.getByLabel('Response to attempt 1').innerText(), 'answered 500')
  await becomes(() => page.getByLabel('Body', { exact: true }).innerText(), /"type": "webhook\.test"/)
  hook.state.status = 200
  await delivery.getByRole('button', { name: 'Resend webhook.test' }).click()
  await page.getByRole('listitem').filter({ hasText: 'resent manually' }).getByText('succeeded').waitFor()
  await page.getByLabel('Status', { exact: true }).selectOption('Succeeded')
  await page.waitForURL('**/*status=succeeded')
  await page.getByRole('button', { name: 'More actions for Till' }).click()
  await page.getByRole('menuitem', { name: 'Rotate secret' }).click()
  await dialog.getByRole('button', { name: 'Rotate secret' }).click()
  await becomes(() => page.getByTestId('secret').innerText(), /^whsec_/)
  await page.getByRole('button', { name: 'I’ve stored it' }).click()
  await page.getByText(/valid until/).waitFor()

  // Playground: an endpoint with the session, and a gateway with a 1-hour key.
  await page.getByRole('link', { name: 'Playground' }).click()
  await page.getByLabel('Search endpoints').fill('create a chat')
  await page.getByRole('link', { name: 'POST Create a chat' }).click()
  await page.getByLabel('title').fill('From the playground')
  await page.getByRole('button', { name: 'Send POST' }).click()
  await page.getByText('201 Created').waitFor()
  await becomes(() => page.getByLabel('Response body').innerText(), /"title": "From the playground"/)
  assert.equal((await aki.get('/chats')).body.data[0].title, 'From the playground')
  await becomes(() => page.getByLabel('curl example').innerText(), /\/v1\/chats[\s\S]*"title": "From the playground"/)
  await page.getByRole('tab', { name: 'TypeScript' }).click()
  await becomes(
    () => page.getByLabel('TypeScript example').innerText(),
    /uk\.chats\.create\(\{ title: 'From the playground'/,
  )
  await page.getByRole('tab', { name: 'uk', exact: true }).click()
  await becomes(() => page.getByLabel('uk example').innerText(), /^uk chats create --title 'From the playground'/)
  await page.getByLabel('Search endpoints').fill('compat-b messages')
  await page.getByRole('link', { name: 'POST Message', exact: true }).click()
  await page.getByRole('button', { name: 'Create 1-hour key' }).click()
  await page.getByRole('button', { name: 'Send POST' }).click()
  const answer = page.getByRole('region', { name: 'Response' })
  await answer.getByText('200').waitFor()
  await page.locator('section[aria-busy=false] pre', { hasText: 'message_stop' }).waitFor()

  // From the response's ID to its log entry.
  await answer.getByRole('link').click()
  await page.getByRole('list', { name: 'Attempts' }).getByText('succeeded').waitFor()
  await page.getByText('/compat-b/v1/messages').waitFor()
  const shown = await page.getByRole('main').innerText()
  assert.ok(!shown.includes('five languages'), 'nothing that was said is there')
  const key = await aki.key({ name: 'Laptop' })
  const refused = await key.post('/compat-a/v1/chat/completions', { model: 'nobody/has-it', messages: [] })
  await page.getByRole('link', { name: 'Requests', exact: true }).click()
  await page.getByLabel('Status', { exact: true }).selectOption('Failed')
  await page.waitForURL('**/*status=failed')
  const rows = page.getByRole('list', { name: 'Requests' }).getByRole('listitem')
  await rows.filter({ hasText: 'nobody/has-it' }).getByText('Laptop').waitFor()
  await rows.filter({ hasText: 'sim/echo' }).waitFor({ state: 'detached' })
  await page.getByLabel('x-request-id').fill(refused.headers.get('x-request-id')!)
  await page.getByRole('button', { name: 'Open request' }).click()
  await page.getByText(/\(HTTP 4\d\d\)/).waitFor()

  // Usage: filters, links to requests, and CSV export.
  await page.goto('/app/ai-routing/usage')
  await page.getByRole('table', { name: 'By model' }).getByRole('button', { name: 'sim/echo' }).click()
  await page.waitForURL('**/*model=sim%2Fecho')
  await page.getByRole('button', { name: 'Clear filter model: sim/echo' }).waitFor()
  const coming = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download CSV' }).click()
  const csv = await readFile(await (await coming).path(), 'utf8')
  assert.match(csv, /^id,created_at,[^]*,sim\/echo,sim,/)
  await page.getByRole('list', { name: 'Latest calls' }).getByRole('link', { name: 'sim/echo' }).first().click()
  await page.getByRole('heading', { level: 1, name: 'Request' }).waitFor()

  await page.goto('/app/ai-routing/models')
  await page.getByLabel('Search models').fill('echo')
  await page.waitForURL('**/*q=echo')
  await page.getByRole('list', { name: 'Models' }).getByText('served by sim').first().waitFor()
  assert.deepEqual(visitor.wrongs, [])
})
