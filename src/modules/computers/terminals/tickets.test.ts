import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { machineOf, peopleAround } from '#test/computers/world.ts'
import { pairedComputer } from '#test/makers.ts'
import { type Caller, caller } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { until } from '#test/until.ts'

const { server, twin, alice } = await twoServers()
const { bob, carol, vera, team } = await peopleAround(server, alice)
const { id } = await machineOf(server, alice)
await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['terminal'] })
const openResponse = await alice.post(`/computers/${id}/terminal`, { action: 'open', argv: ['cat'] })
const { terminal_id } = openResponse.body.data

const ask = (who: Caller, of = terminal_id) => who.post(`/computers/${id}/terminals/${of}/ticket`, {})
const urlOf = async (who: Caller): Promise<string> => {
  const response = await ask(who)
  assert.equal(response.status, 201, response.text)
  assert.ok(Date.parse(response.body.data.expires_at) - Date.now() <= 60_000)
  return response.body.data.url
}
const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body.error?.code]

interface Open {
  socket: WebSocket
  text(): string
  closed: Promise<number>
}
/** Opens a terminal like a page: by URL, with the browser's `Origin`. */
function open(url: string, headers: Record<string, string> = { origin: 'https://page.example' }): Promise<Open> {
  const socket = new WebSocket(url, { headers })
  const parts: Buffer[] = []
  socket.on('message', (message: Buffer, binary) => void (binary && parts.push(message)))
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve({ socket, text: () => Buffer.concat(parts).toString(), closed }))
    socket.once('error', reject)
    socket.once('unexpected-response', (_, response) => {
      response.resume()
      reject(Object.assign(new Error('refused'), { status: response.statusCode }))
    })
  })
}
const refusalStatus = (url: string, headers?: Record<string, string>) =>
  open(url, headers).then(
    () => 0,
    (error: { status?: number }) => error.status,
  )

test('a ticket opens one terminal once, from any page and process', async () => {
  const url = await urlOf(alice)
  assert.match(url, /^ws:\/\/.*\/attach\?ticket=[0-9A-Za-z]{43}$/)
  // The ticket is bound to this terminal and computer.
  assert.equal(await refusalStatus(url.replace(terminal_id, 'other')), 410)
  const elsewhere = await pairedComputer(alice)
  assert.equal(await refusalStatus(url.replace(id, elsewhere.id)), 410)
  const there = url.replace(server.origin.replace('http', 'ws'), twin.origin.replace('http', 'ws'))
  const page = await open(there)
  page.socket.send(Buffer.from('hello-page\r'))
  await until(
    async () => page.text(),
    (text) => text.includes('hello-page'),
  )
  assert.equal(await refusalStatus(url), 410)
  page.socket.close()
  await page.closed
  assert.equal(await refusalStatus(url), 410)
  for (const wrong of ['', 'x', 'x'.repeat(43), `${url.slice(-43)}%00`])
    assert.equal(await refusalStatus(url.replace(/ticket=.*/, `ticket=${wrong}`)), 410, wrong)
  // The ticket isn't an API key.
  const ticket = (await urlOf(alice)).slice(-43)
  assert.equal((await caller(server.origin, { authorization: `Bearer ${ticket}` }).get('/me')).status, 401)
  assert.equal((await server.stranger.get(`/computers/${id}?ticket=${ticket}`)).status, 401)
})

test('a ticket expires after a minute', async () => {
  const url = await urlOf(alice)
  const { pool } = server.app.engine.postgres
  await pool.query(`update computer_tickets set expires_at = now() where terminal_id = $1 and not entered`, [
    terminal_id,
  ])
  assert.equal(await refusalStatus(url), 410)
})

test('only users with the terminal capability get tickets, with their own permissions', async () => {
  assert.deepEqual(code(await ask(server.stranger)), [401, 'missing_credentials'])
  assert.deepEqual(code(await ask(carol)), [404, undefined])
  assert.deepEqual(code(await ask(vera)), [403, 'insufficient_role'])
  assert.deepEqual(code(await ask(await bob.key({ scopes: ['computer:write'] }))), [403, 'missing_scope'])
  assert.deepEqual(code(await ask(await bob.key({ workspace_id: bob.workspaceId }))), [404, undefined])
  const url = await urlOf(bob)
  await alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['exec'] })
  assert.equal(await refusalStatus(url), 403)
  assert.deepEqual(code(await ask(bob)), [403, 'capability_denied'])
  await alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['terminal'] })
})

test('a terminal opened by a ticket ends with the grant, the key or the session behind it', async () => {
  const { email, password } = bob
  const signedIn = await server.stranger.post('/auth/sign-in', { email, password }, { 'x-uk-csrf': '1' })
  const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!
  const other = caller(server.origin, { cookie, 'x-uk-csrf': '1' })
  const key = await bob.key({ workspace_id: team })
  const [bySession, byKey, byGrant] = [
    await open(await urlOf(other)),
    await open(await urlOf(key)),
    await open(await urlOf(bob)),
  ]
  const typeWord = async (page: Open, word: string) => {
    page.socket.send(Buffer.from(`${word}\r`))
    await until(
      async () => page.text(),
      (text) => text.includes(word),
    )
  }
  await typeWord(bySession, 'by-session')
  await typeWord(byKey, 'by-key')
  assert.equal((await other.post('/auth/sign-out')).status < 300, true)
  assert.equal(await bySession.closed, 1008)
  await bob.delete(`/api-keys/${key.keyId}`)
  assert.equal(await byKey.closed, 1008)
  await typeWord(byGrant, 'by-grant')
  await alice.delete(`/computers/${id}/exposures/${team}`)
  assert.equal(await byGrant.closed, 1008)
})

test('an expired key ends the terminals its tickets opened', async () => {
  const key = await alice.key({ expires_at: new Date(Date.now() + 15_000).toISOString() })
  const page = await open(await urlOf(key))
  assert.equal(await page.closed, 1008)
})
