// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { createServer, request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { after, before, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { daemonHome } from '#test/link/run-daemon.ts'
import { type StartedDaemon, startDaemon } from '#test/link/start-daemon.ts'
import { peopleAround } from '#test/computers/world.ts'
import { teamOf } from '#test/makers.ts'
import type { Caller } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { PATIENCE_MS, until } from '#test/until.ts'
import { hasChromium, openBrowser } from '#test/web/browser.ts'

const { server, twin, alice } = await twoServers()
const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())

const { bob, carol, vera, team } = await peopleAround(server, alice)
let daemon: StartedDaemon
let id: string
/** The port of the program on the computer. */
let port: number
/** Requests received by the program, newest last. */
const requests: IncomingMessage[] = []

before(async () => {
  const program = createServer((request, response) => {
    requests.push(request)
    const { url } = request
    if (url === '/slow') return void response.write('begun')
    if (url === '/broken') return void request.socket.end('nonsense\r\n\r\n')
    if (url === '/echo') return void request.pipe(response.writeHead(200, { 'content-type': 'text/plain' }))
    if (url === '/cookies')
      return void response
        .writeHead(200, { 'set-cookie': ['own=1; Domain=localhost; Path=/', 'uk_session=stolen; Path=/'] })
        .end('ok')
    if (url === '/v1/chat/completions' || url === '/v1/me') return void response.end(`the program's own ${url}`)
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<title>Program</title><p id=said></p><script>
      const socket = new WebSocket('ws://' + location.host + '/socket')
      socket.onopen = () => socket.send('hello')
      socket.onmessage = ({data}) => document.getElementById('said').textContent = data
      socket.onclose = () => document.title = 'closed'
    </script>`)
  })
  const sockets = new WebSocketServer({ server: program })
  sockets.on('connection', (socket, request) => {
    requests.push(request)
    socket.on('message', (data) => socket.send(`heard ${String(data)}`))
  })
  await new Promise<void>((resolve) => program.listen(0, '127.0.0.1', resolve))
  stack.defer(() => {
    for (const socket of sockets.clients) socket.terminate()
    program.closeAllConnections()
    program.close()
  })
  port = (program.address() as AddressInfo).port
  const home = stack.use(daemonHome())
  daemon = stack.use(await startDaemon(home, server.origin, alice))
  id = daemon.id
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
})

const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body?.error?.code]
const ticketOf = (who: Caller, of = port) => who.post(`/computers/${id}/ports/${of}/ticket`, {})
const hostOf = (origin: string, of = port) => `p${of}-${id.toLowerCase()}.localhost:${new URL(origin).port}`

interface PreviewResponse {
  status: number
  headers: IncomingMessage['headers']
  text: string
}
/** Sends a request as browsers do, which resolve `*.localhost` themselves. */
function ask(
  path: string,
  {
    headers = {},
    method = 'GET',
    body = '',
    of = port,
    origin = server.origin,
  }: { headers?: Record<string, string>; method?: string; body?: string; of?: number; origin?: string } = {},
): Promise<PreviewResponse> {
  return new Promise((resolve, reject) => {
    const out = httpRequest(
      {
        host: '127.0.0.1',
        port: new URL(origin).port,
        path,
        method,
        headers: { host: hostOf(origin, of), ...headers },
      },
      (response) => {
        let text = ''
        response.on('data', (part: Buffer) => (text += String(part)))
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
        response.on('error', reject)
      },
    )
    out.on('error', reject)
    out.end(body)
  })
}
async function enter(who: Caller, of = port): Promise<string> {
  const response = await ticketOf(who, of)
  assert.equal(response.status, 201, response.text)
  const { pathname, search } = new URL(response.body.data.url)
  const entered = await ask(pathname + search, { of })
  assert.deepEqual([entered.status, entered.headers.location], [303, '/'], entered.text)
  return entered.headers['set-cookie']![0]!
}
const cookieOf = (set: string): string => set.split(';')[0]!

test('a program that closes before reading everything doesn’t break other connections', async () => {
  // The server must survive this; it is a separate process.
  const rude = createNetServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.end('HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
      setTimeout(() => socket.destroy(), 20)
    })
  })
  await new Promise<void>((resolve) => rude.listen(0, '127.0.0.1', resolve))
  using _rude = { [Symbol.dispose]: () => rude.close() }
  const { links } = server.app.engine
  const of = (rude.address() as AddressInfo).port
  const signal = AbortSignal.timeout(PATIENCE_MS)
  for (let i = 0; i < 5; i++) {
    const stream = await links.open(id, 'ports.dial', { port: of }, { signal })
    const sending = (async () => {
      for (let n = 0; n < 160; n++) await stream.write(Buffer.alloc(65_536))
      stream.finish()
    })().catch(() => {})
    for await (const item of stream) if (item.type === 'finished') break
    await sending
    await stream.output
  }
  assert.ok(await links.ask(id, 'daemon.probe', {}, { signal }))
})

test('a port has a program, a label and an origin, and the label outlives the program', async () => {
  const row = async (of: number) =>
    (await alice.get(`/computers/${id}/ports?limit=100`)).body.data.find((one: { port: number }) => one.port === of)
  const there = await row(port)
  assert.deepEqual([there.status, there.label, there.pid], ['listening', null, process.pid])
  assert.equal(there.url, `http://${hostOf(server.origin)}/`)
  const response = await alice.patch(`/computers/${id}/ports`, { port, label: 'The app' })
  assert.deepEqual(
    [response.status, response.body.data.label, response.body.data.status],
    [200, 'The app', 'listening'],
  )
  const closed = await alice.patch(`/computers/${id}/ports`, { port: 9, label: 'Later' })
  assert.deepEqual([closed.body.data.status, closed.body.data.process], ['closed', null])
  assert.equal((await row(9)).label, 'Later')
  await alice.patch(`/computers/${id}/ports`, { port: 9, label: null })
  assert.equal(await row(9), undefined)
  assert.equal((await row(port)).label, 'The app')
  for (const label of ['', 'x'.repeat(121), 5])
    assert.equal((await alice.patch(`/computers/${id}/ports`, { port, label })).status, 400)
  for (const wrong of [0, 65_536, 'x'])
    assert.ok([400, 404].includes((await alice.post(`/computers/${id}/ports/${wrong}/ticket`, {})).status))
})

test('a ticket opens one port of one computer once, and its cookie works nowhere else', async () => {
  const response = await ticketOf(alice)
  const { pathname, search } = new URL(response.body.data.url)
  assert.ok(Date.parse(response.body.data.expires_at) - Date.now() <= 60_000)
  assert.equal((await ask(pathname + search, { of: port + 1 })).status, 410)
  const entered = await ask(pathname + search)
  const set = entered.headers['set-cookie']![0]!
  assert.match(set, /^uk_preview=\w+; Path=\/; HttpOnly; SameSite=Lax$/)
  assert.equal((await ask(pathname + search)).status, 410)
  const cookie = cookieOf(set)
  assert.match((await ask('/', { headers: { cookie } })).text, /<title>Program/)
  // Also works in the process without the link.
  assert.match((await ask('/', { headers: { cookie }, origin: twin.origin })).text, /<title>Program/)
  assert.equal((await ask('/', { headers: { cookie }, of: port + 1 })).status, 401)
  assert.equal((await ask('/')).status, 401)
  assert.equal((await ask('/', { headers: { cookie: 'uk_preview=nonsense' } })).status, 401)
  // The cookie isn't a platform session.
  assert.equal((await server.stranger.get('/me', { cookie })).status, 401)
  const other = { cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }
  assert.equal((await ask('/', { headers: other })).status, 403)
  const goes = { cookie, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' }
  assert.equal((await ask('/', { headers: { ...goes, 'sec-fetch-dest': 'document' } })).status, 200)
  assert.equal((await ask('/', { headers: { ...goes, 'sec-fetch-dest': 'iframe' } })).status, 403)
  // Without `Sec-Fetch-Site`, a form from another port with a hidden origin is refused.
  for (const hidden of ['null', `http://${hostOf(server.origin, port + 1)}`])
    assert.equal((await ask('/', { method: 'POST', headers: { cookie, origin: hidden } })).status, 403, hidden)
  const own = { cookie, origin: `http://${hostOf(server.origin)}` }
  assert.equal((await ask('/echo', { method: 'POST', body: 'x', headers: own })).text, 'x')
})

test('the program serves every path of a preview and never gets the platform’s secrets', async () => {
  const cookie = cookieOf(await enter(alice))
  const key = await alice.key({ scopes: ['computer:read'] })
  for (const [path, method] of [
    ['/v1/me', 'GET'],
    ['/v1/chat/completions', 'POST'],
  ] as const) {
    const headers = { cookie, 'content-type': 'application/json' }
    assert.equal(
      (await ask(path, { method, body: method === 'POST' ? '{"model":"sim/echo"}' : '', headers })).text,
      `the program's own ${path}`,
    )
  }
  const answer = await ask('/x?y=1', {
    headers: {
      cookie: `theirs=1; ${cookie}; uk_session=abc; __Host-uk_session=abc`,
      authorization: `Bearer ${key.key}`,
      'x-api-key': key.key,
      'x-forwarded-for': '6.6.6.6',
      'x-forwarded-host': 'evil.example',
    },
  })
  assert.equal(answer.status, 200)
  const { headers, rawHeaders, url } = requests.at(-1)!
  assert.equal(url, '/x?y=1')
  assert.deepEqual(
    [
      headers.cookie,
      headers.authorization,
      headers['x-api-key'],
      headers['x-forwarded-for'],
      headers['x-forwarded-host'],
      headers['x-forwarded-proto'],
      headers.host,
    ],
    ['theirs=1', undefined, undefined, undefined, hostOf(server.origin), 'http', hostOf(server.origin)],
  )
  assert.ok(!rawHeaders.join().includes(key.key))
  // The program's own `Authorization` passes through.
  await ask('/x', { headers: { cookie, authorization: 'Bearer theirs' } })
  assert.equal(requests.at(-1)!.headers.authorization, 'Bearer theirs')
  const body = 'x'.repeat(3_000_000)
  assert.equal((await ask('/echo', { method: 'POST', body, headers: { cookie } })).text.length, body.length)
  assert.deepEqual((await ask('/cookies', { headers: { cookie } })).headers['set-cookie'], ['own=1; Path=/'])
  // Programs send their key instead.
  assert.equal((await ask('/x', { headers: { authorization: `Bearer ${key.key}` } })).status, 200)
  const bare = await alice.key({ scopes: ['drive:read'] })
  assert.equal((await ask('/x', { headers: { 'x-api-key': bare.key } })).status, 403)
  assert.equal((await ask('/x', { headers: { 'x-api-key': 'uk_nonsense' } })).status, 401)
})

test('an unresponsive port shows an error page, or text for clients that don’t want HTML', async () => {
  const brief = createNetServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => brief.once('listening', resolve))
  const of = (brief.address() as AddressInfo).port
  const closed = cookieOf(await enter(alice, of))
  await new Promise((resolve) => brief.close(resolve))
  const page = await ask('/', { of, headers: { cookie: closed, accept: 'text/html' } })
  assert.deepEqual([page.status, page.headers['content-type']], [502, 'text/html; charset=utf-8'])
  assert.match(page.text, new RegExp(`No program responds on port ${of}`))
  const script = await ask('/main.js', { of, headers: { cookie: closed } })
  assert.deepEqual([script.status, script.headers['content-type']], [502, 'text/plain; charset=utf-8'])
  const cookie = cookieOf(await enter(alice))
  assert.equal((await ask('/broken', { headers: { cookie } })).status, 502)
})

test('a ticket for a closed port is rejected with the list of open ports', async () => {
  const refusal = await ticketOf(alice, 9)
  assert.deepEqual(code(refusal), [409, 'invalid_state'], refusal.text)
  assert.match(refusal.body.error.message, /^Nothing is listening on port 9 of the computer/)
  assert.ok(refusal.body.error.details.listening.length > 0)
})

test('members with the capability see a port; viewers, strangers and former members don’t', async () => {
  for (const answer of [await ticketOf(bob), await ticketOf(carol), await bob.get(`/computers/${id}/ports`)])
    assert.deepEqual(code(answer), [404, undefined])
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['fs_read'] })
  assert.deepEqual(code(await ticketOf(bob)), [403, 'capability_denied'])
  await alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['ports'] })
  assert.deepEqual(code(await ticketOf(vera)), [403, 'insufficient_role'])
  const cookie = cookieOf(await enter(bob))
  const bobs = await bob.key()
  const open = [{ cookie }, { authorization: `Bearer ${bobs.key}` }].map((headers) => {
    const socket = new WebSocket(`ws://127.0.0.1:${new URL(server.origin).port}/socket`, {
      headers: { ...headers, host: hostOf(server.origin) },
    })
    socket.on('open', () => socket.send('hi'))
    const firstMessage = new Promise<string>((resolve) => socket.on('message', (data) => resolve(String(data))))
    return {
      heard: firstMessage,
      closed: new Promise<void>((resolve) => socket.on('error', () => {}).on('close', () => resolve())),
    }
  })
  for (const { heard: firstMessage } of open) assert.equal(await firstMessage, 'heard hi')
  const slow = ask('/slow', { headers: { cookie } }).then(
    () => 'whole',
    () => 'broken off',
  )
  await until(async () => requests.some(({ url }) => url === '/slow'), Boolean)
  await alice.delete(`/computers/${id}/exposures/${team}`)
  assert.equal((await ask('/', { headers: { cookie } })).status, 404)
  await Promise.all(open.map(({ closed }) => closed))
  assert.equal(await slow, 'broken off')
  const rejectedSocket = new WebSocket(`ws://127.0.0.1:${new URL(server.origin).port}/socket`, {
    headers: { cookie, host: hostOf(server.origin) },
  })
  const status = await new Promise((resolve) =>
    rejectedSocket.on('error', () => {}).on('unexpected-response', (_, response) => resolve(response.statusCode)),
  )
  assert.equal(status, 404)
})

test('revoking a key ends the previews it opened', async () => {
  const key = await alice.key({ scopes: ['computer:read'] })
  const response = await key.post(`/computers/${id}/ports/${port}/ticket`, {})
  const { pathname, search } = new URL(response.body.data.url)
  const cookie = cookieOf((await ask(pathname + search)).headers['set-cookie']![0]!)
  assert.equal((await ask('/', { headers: { cookie } })).status, 200)
  await alice.delete(`/api-keys/${key.keyId}`)
  assert.equal((await ask('/', { headers: { cookie } })).status, 401)
})

test(
  'a page with a WebSocket opens in Chromium and closes when permission is lost',
  { skip: !hasChromium },
  async () => {
    const some = await teamOf(alice, [[carol, 'member']])
    await alice.post(`/computers/${id}/exposures`, { workspace_id: some, capabilities: ['ports'] })
    const browser = await openBrowser()
    try {
      const page = await (await browser.newContext()).newPage()
      await page.goto((await ticketOf(carol)).body.data.url)
      assert.equal(page.url(), `http://${hostOf(server.origin)}/`)
      await page.waitForFunction('document.getElementById("said").textContent === "heard hello"')
      assert.equal(await page.evaluate('document.cookie'), '')
      await alice.delete(`/computers/${id}/exposures/${some}`)
      await page.waitForFunction('document.title === "closed"', null, { timeout: PATIENCE_MS })
      assert.equal((await page.goto(`http://${hostOf(server.origin)}/`))!.status(), 404)
    } finally {
      await browser.close()
    }
  },
)

test('while offline, lists report it and previews return 504', async () => {
  const cookie = cookieOf(await enter(alice))
  await daemon[Symbol.asyncDispose]()
  await until(async () => (await alice.get(`/computers/${id}`)).body.data.connection === 'offline', Boolean)
  assert.deepEqual(code(await alice.get(`/computers/${id}/ports`)), [409, 'computer_offline'])
  assert.equal((await ask('/', { headers: { cookie } })).status, 504)
})
