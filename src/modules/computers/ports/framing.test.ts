// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { daemonHome } from '#test/link/run-daemon.ts'
import { startDaemon } from '#test/link/start-daemon.ts'
import { testServer } from '#test/server.ts'
import { PATIENCE_MS } from '#test/until.ts'

const server = await testServer()
const alice = await server.person('Alice')
const stack = new AsyncDisposableStack()
stack.use(server)
after(() => stack.disposeAsync())

interface ReceivedRequest {
  fields: [name: string, value: string][]
  body: string
  /** Bytes after the end of the request. */
  rest: string
}
const requests: ReceivedRequest[] = []
/** The program's next response, as raw bytes. */
let reply = ''
let host: string
let cookie: string

/** Parses strictly. Null: incomplete. Without a length there is no body. */
function parseRequest(text: string): ReceivedRequest | null {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return null
  const fields = text
    .slice(0, end)
    .split('\r\n')
    .slice(1)
    .map((line): [string, string] => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ])
  const own = (name: string) => fields.find(([field]) => field === name)?.[1]
  let rest = text.slice(end + 4)
  if (own('transfer-encoding') === 'chunked') {
    let body = ''
    for (;;) {
      const [, digits] = /^([0-9a-f]+)\r\n/i.exec(rest) ?? []
      if (digits === undefined) return null
      const size = Number.parseInt(digits, 16)
      const from = digits.length + 2
      if (rest.length < from + size + 2) return null
      body += rest.slice(from, from + size)
      rest = rest.slice(from + size + 2)
      if (size === 0) return { fields, body, rest }
    }
  }
  const length = Number(own('content-length') ?? 0)
  return rest.length < length ? null : { fields, body: rest.slice(0, length), rest: rest.slice(length) }
}

before(async () => {
  const program = createServer((socket) => {
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (part: Buffer) => {
      text += part.toString('latin1')
      const request = parseRequest(text)
      if (request === null) return
      socket.removeAllListeners('data')
      requests.push(request)
      socket.end(reply)
    })
  })
  await new Promise<void>((resolve) => program.listen(0, '127.0.0.1', resolve))
  stack.defer(() => void program.close())
  const { port } = program.address() as AddressInfo
  const home = stack.use(daemonHome())
  const { id } = stack.use(await startDaemon(home, server.origin, alice))
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
  const {
    pathname,
    search,
    host: hostName,
  } = new URL((await alice.post(`/computers/${id}/ports/${port}/ticket`, {})).body.data.url)
  host = hostName
  cookie = await new Promise((resolve, reject) =>
    httpRequest(
      { host: '127.0.0.1', port: new URL(server.origin).port, path: pathname + search, headers: { host } },
      (response) => resolve(response.resume().headers['set-cookie']![0]!.split(';')[0]!),
    )
      .on('error', reject)
      .end(),
  )
})

/** Sends raw bytes on a new connection and returns the response. */
function send(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(Number(new URL(server.origin).port), '127.0.0.1', () =>
      socket.write(bytes, 'latin1'),
    )
    let text = ''
    socket.on('data', (part: Buffer) => (text += part.toString('latin1')))
    socket.on('end', () => resolve(text)).on('error', reject)
  })
}

const NAMED = [
  'content-length',
  'Content-Length, close',
  'close, transfer-encoding',
  'close, Host, Content-Type, X-Own',
  'close\r\nConnection: content-length, Transfer-Encoding',
]

test('`Connection` can’t remove a request’s length, so no body is parsed as the next request', async () => {
  reply = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok'
  const smuggled = 'GET /admin HTTP/1.1\r\nHost: inside\r\nX-Forwarded-Proto: https\r\n\r\n'
  const framings = {
    length: `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    chunks: `Transfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
  }
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    for (const fieldNames of NAMED)
      for (const [framing, rest] of Object.entries(framings)) {
        requests.length = 0
        const what = `${method} by ${framing}, Connection: ${fieldNames}`
        const response = await send(
          `${method} /x HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\nContent-Type: text/plain\r\nX-Own: 1\r\nConnection: ${fieldNames}\r\n${fieldNames.includes('close') ? '' : 'Connection: close\r\n'}${rest}`,
        )
        assert.match(response, /^HTTP\/1\.1 200 /, what)
        const [request] = requests as [ReceivedRequest]
        const values = (name: string) => request.fields.filter(([field]) => field === name).map(([, value]) => value)
        assert.equal(values('content-length').length + values('transfer-encoding').length, 1, what)
        assert.deepEqual([request.body, request.rest, requests.length], [smuggled, '', 1], what)
        assert.deepEqual([values('host'), values('content-type')], [[host], ['text/plain']], what)
        // Hop-by-hop headers aren't forwarded.
        assert.equal(values('x-own').length, fieldNames.includes('X-Own') ? 0 : 1, what)
      }
})

test('a request without a body gets none', async () => {
  reply = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  for (const method of ['GET', 'POST', 'DELETE']) {
    requests.length = 0
    await send(
      `${method} /x HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\nConnection: close, content-length\r\n\r\n`,
    )
    const [{ body, rest }] = requests as [ReceivedRequest]
    assert.deepEqual([body, rest], ['', ''], method)
  }
})

test('`Connection` can’t move the end of a response', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  using _agent = { [Symbol.dispose]: () => agent.destroy() }
  const ask = (method: string): Promise<[status: number, text: string, reused: boolean]> =>
    new Promise((resolve, reject) => {
      const out = httpRequest(
        { agent, host: '127.0.0.1', port: new URL(server.origin).port, path: '/x', method, headers: { host, cookie } },
        (response) => {
          let text = ''
          response.on('data', (part: Buffer) => (text += String(part)))
          response.on('end', () => resolve([response.statusCode!, text, out.reusedSocket]))
          response.on('error', reject)
        },
      )
      out.on('error', reject).end()
    })
  const injected = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad'
  const answers: [method: string, head: string, body: string, status: number, text: string][] = [
    [
      'GET',
      'HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: 5\r\n\r\n',
      `hello${injected}`,
      200,
      'hello',
    ],
    [
      'GET',
      'HTTP/1.1 200 OK\r\nConnection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n',
      '5\r\nhello\r\n0\r\n\r\n',
      200,
      'hello',
    ],
    ['GET', 'HTTP/1.1 200 OK\r\nConnection: close, Content-Type\r\n\r\n', injected, 200, injected],
    ['HEAD', 'HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: 5\r\n\r\n', injected, 200, ''],
    ['GET', 'HTTP/1.1 204 No Content\r\nConnection: content-length\r\nContent-Length: 5\r\n\r\n', injected, 204, ''],
    [
      'GET',
      'HTTP/1.1 304 Not Modified\r\nConnection: etag\r\nETag: "x"\r\nContent-Length: 5\r\n\r\n',
      injected,
      304,
      '',
    ],
    ['GET', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 50\r\n\r\n', `hello${injected}`, 502, ''],
    ['GET', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n', '0\r\n\r\n', 502, ''],
  ]
  for (const [method, head, body, status, text] of answers) {
    reply = head + body
    const [nextStatus, nextText] = await ask(method)
    assert.deepEqual([nextStatus, status === 502 ? '' : nextText], [status, text], head)
    // The next response on the connection is intact.
    reply = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext'
    const [next, own] = await ask('GET')
    assert.deepEqual([next, own], [200, 'next'], head)
  }
})
