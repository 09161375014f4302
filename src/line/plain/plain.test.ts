import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, type Server, createServer } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Reply, WholeRequest } from '#kernel/exchange.ts'
import { PlainConnections } from './connections.ts'
import { PlainHeads, readPlainHead } from './head.ts'
import { PlainReply } from './reply.ts'

const PATHS = new Set(['/one', '/two/three', '/stream', '/large'])

/** More than the kernel keeps between two sockets. */
const LARGE = 40 << 20

/** Says what it was asked; `/stream` in pieces, one each turn. */
function answer(request: IncomingMessage | WholeRequest, body: Buffer, reply: Reply): void {
  const { method, url, headers } = request
  const said = Buffer.from(JSON.stringify({ method, url, headers, body: body.toString('latin1') }))
  const head = ['x-one', 'ein\tWert ÿ', 'content-type', 'application/json']
  if (url!.startsWith('/stream')) {
    reply.writeHead(200, head)
    reply.write(said)
    return void setImmediate(() => {
      reply.write('zwei ü')
      setImmediate(() => reply.end(body.length % 2 === 0 ? undefined : 'drei'))
    })
  }
  if (url!.startsWith('/large')) {
    reply.writeHead(200, [...head, 'content-length', String(LARGE)])
    return void reply.end(Buffer.alloc(LARGE, 'x'))
  }
  reply.writeHead(method === 'POST' ? 200 : 404, [...head, 'content-length', String(said.length)])
  // As text or as bytes: what arrives is the same.
  if (body.length % 2 === 0) reply.end(said.toString('latin1'), 'latin1')
  else reply.end(said)
}

interface Pair extends AsyncDisposable {
  /** Requests that came the short way. */
  plain: number
  connections: PlainConnections
  bare: Server
  fronted: Server
}

const started = async (server: Server): Promise<Server> => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

/** Node's own server, and one with plain connections in front, which answer alike. */
async function pair(slow?: (reply: Reply, request: WholeRequest) => void): Promise<Pair> {
  const full = (): Server =>
    createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => answer(request, Buffer.concat(parts), response))
    })
  const [bare, fronted] = await Promise.all([started(full()), started(full())])
  const [taken] = fronted.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  const connections = new PlainConnections({
    paths: PATHS,
    keepAliveSeconds: 65,
    handOver: (socket) => taken!.call(fronted, socket),
    answer(request, reply) {
      both.plain++
      if (slow) slow(reply, request)
      else answer(request, request.whole, reply)
    },
  })
  fronted.removeAllListeners('connection').on('connection', (socket: Socket) => connections.take(socket))
  const both: Pair = {
    plain: 0,
    connections,
    bare,
    fronted,
    async [Symbol.asyncDispose]() {
      connections.closeAll()
      for (const server of [bare, fronted]) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    },
  }
  return both
}

const open = (server: Server): Socket => connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay()

/** All that comes back until the server closes. The same pieces, one each turn. */
async function exchange(server: Server, pieces: readonly Buffer[]): Promise<string> {
  const socket = open(server)
  const parts: Buffer[] = []
  socket.on('data', (part) => parts.push(part)).on('error', () => {})
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  for (const piece of pieces) {
    socket.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await closed
  return Buffer.concat(parts)
    .toString('latin1')
    .replaceAll(/\r\nDate: [^\r]+ GMT\r\n/g, '\r\nDate: now\r\n')
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end))
}

const post = (path: string, body: string, more = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`
const LAST = 'GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

const ordinary = fc
  .tuple(
    fc.constantFrom('/one', '/two/three', '/one?beta=true', '/stream'),
    fc.string({ unit: 'binary-ascii', maxLength: 40 }),
    fc.constantFrom(
      '',
      'X-Key: a b  \r\n',
      'connection: keep-alive\r\n',
      'authorization:Bearer x\r\nuser-agent: \tme\r\n',
    ),
  )
  .map(([path, body, more]) => post(path, body, more))
/** Not for the short way, and well-formed. */
const unusual = [
  post('/elsewhere', '{}'),
  post('/one#x', '{}'),
  post('/one', '{}', 'x-one: ü\r\n'),
  post('/one', '{}', 'X-One: a\r\nx-one: b\r\n'),
  post('/one', '{}', 'x-empty:\r\n'),
  post('/one', '{}', 'Set-Cookie: a=b\r\n'),
  post('/one', '{}', 'Expect: 100-continue\r\n'),
  post('/one', '{}').replace('Length: 2', 'Length: 02'),
  post('/one', '{}').replace('POST', 'PUT'),
  'POST /one HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  'GET /one HTTP/1.1\r\nHost: x\r\n\r\n',
]
/** Malformed, or the last of their connection. */
const ending = [
  post('/one', '{}', 'Content-Length: 2\r\n'),
  post('/one', '{}', 'Content-Length: 3\r\n'),
  post('/one', '{}', 'Transfer-Encoding: chunked\r\n'),
  post('/one', '{}', 'X-Ümlaut: x\r\n'),
  post('/one', '{}', 'x-folded: a\r\n b\r\n'),
  post('/one', '{}', 'x-bare: a\n'),
  post('/one', '{}', 'no name: a\r\n'),
  post('/one', '{}', 'nothing\r\n'),
  post('/one', '{}', 'x-zero: a\0b\r\n'),
  post('/one', '{}', 'x-one : a\r\n'),
  post('/one', '{}', 'Connection: close\r\n'),
  post('/one', '{}', 'Proxy-Connection: close\r\n'),
  post('/one', '{}').replace('Host: x\r\n', ''),
  post('/one', '{}').replace('HTTP/1.1', 'HTTP/1.0'),
  post('/one', '{}').replace('Length: 2', 'Length: +2'),
  post('/one', '{}').replace('POST /', 'POST  /'),
  'POST /one HTTP/1.1\r\nHost: x\r\n\r\n',
  '\r\n\r\n',
  'nonsense\r\n\r\n',
]

test('what comes back is byte for byte what Node’s server answers, whatever is asked and wherever it is cut', async () => {
  await using both = await pair()
  const requests = fc.array(
    fc.oneof({ weight: 3, arbitrary: ordinary }, { weight: 1, arbitrary: fc.constantFrom(...unusual) }),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  await fc.assert(
    fc.asyncProperty(requests, fc.array(fc.nat(), { maxLength: 3 }), async (given, places) => {
      const pieces = cut(Buffer.from(given.join('') + LAST, 'latin1'), places)
      const [bare, fronted] = await Promise.all([exchange(both.bare, pieces), exchange(both.fronted, pieces)])
      assert.equal(fronted, bare)
    }),
    { numRuns: 150 },
  )
  assert.ok(both.plain > 50, `${both.plain} requests came the short way`)
})

test('each unusual request is Node’s to answer, alone and after an ordinary one', async () => {
  await using both = await pair()
  const first = post('/one', '{"a":1}')
  const said = await exchange(both.bare, [Buffer.from(first + LAST)])
  const answered = said.slice(0, said.indexOf('HTTP/1.1 404'))
  for (const request of [...unusual, ...ending]) {
    const pieces = [Buffer.from(request + LAST, 'latin1')]
    const bare = await exchange(both.bare, pieces)
    assert.equal(await exchange(both.fronted, pieces), bare, request)
    // Node forgets what it was about to answer when something malformed follows.
    assert.equal(await exchange(both.fronted, [Buffer.from(first), ...pieces]), answered + bare, request)
  }
})

test('what changes the protocol is not read the short way', () => {
  for (const more of ['Upgrade: h2c\r\n', 'Connection: upgrade\r\n', 'Connection: keep-alive, close\r\n']) {
    const head = post('/one', '', more)
    assert.equal(readPlainHead(head, PATHS), null, more)
  }
})

test('a connection remembers its last head, unless that is a long one', () => {
  for (const [more, remembered] of [
    ['', true],
    [`x-long: ${'x'.repeat(8_000)}\r\n`, false],
  ] as const) {
    const heads = new PlainHeads(PATHS)
    const first = heads.read(post('/one', '', more))
    assert.deepEqual(heads.read(post('/one', '', more)), first)
    assert.equal(heads.read(post('/one', '', more)) === first, remembered)
    assert.equal(heads.read(post('/one', '123', more).slice(0, -3))!.length, 3)
  }
})

test('an answer that nobody reads holds up the next request, and the rest comes when it is read', async () => {
  await using both = await pair()
  const socket = open(both.fronted)
  socket.pause()
  socket.write(post('/large', '').repeat(2))
  while (both.plain === 0) await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(both.plain, 1)
  await new Promise<void>((resolve) => {
    let read = 0
    socket.on('data', (part) => void ((read += part.length) >= 2 * LARGE && resolve())).resume()
  })
  assert.equal(both.plain, 2)
  socket.destroy()
})

test('a request that comes slowly is handed over with what has come of it', async () => {
  await using both = await pair()
  const socket = open(both.fronted)
  const request = post('/one', '{"a":1}')
  socket.write(request.slice(0, -3))
  await new Promise((resolve) => setTimeout(resolve, 400))
  socket.write(request.slice(-3))
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  assert.match(bytes.toString(), /^HTTP\/1\.1 200 OK/)
  assert.ok(bytes.toString().includes(JSON.stringify('{"a":1}')))
  assert.equal(both.plain, 0)
  socket.destroy()
})

test('who leaves is heard of at once; what closes waits for its answers and takes no more', async () => {
  const replies: Reply[] = []
  await using both = await pair((reply) => void replies.push(reply))
  const leaver = open(both.fronted)
  leaver.write(post('/one', '{}'))
  while (replies.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const left = new Promise<void>((resolve) => replies[0]!.on('close', resolve))
  leaver.destroy()
  await left
  assert.equal(replies[0]!.destroyed, true)
  assert.equal(replies[0]!.write('nobody reads it'), false)

  const idle = open(both.fronted)
  idle.write(post('/one', '{}'))
  while (replies.length === 1) await new Promise((resolve) => setImmediate(resolve))
  const answered = new Promise<void>((resolve) => replies[1]!.on('close', resolve))
  replies[1]!.writeHead(200, ['content-length', '0']).end()
  await answered
  const fresh = open(both.fronted)
  await once(fresh, 'connect')
  const busy = open(both.fronted)
  busy.write(post('/one', '{}'))
  while (replies.length === 2) await new Promise((resolve) => setImmediate(resolve))
  const closed = [idle, busy].map((socket) => once(socket.resume(), 'close'))
  const parts: Buffer[] = []
  busy.on('data', (part) => parts.push(part))
  both.connections.close()
  await closed[0]
  busy.write(post('/one', '{"a":1}'))
  replies[2]!.writeHead(200, ['content-length', '2']).end('ok')
  busy.write(post('/one', '{"a":2}'))
  await closed[1]
  assert.equal(replies.length, 3)
  const text = Buffer.concat(parts).toString()
  assert.match(text, /\r\nConnection: close\r\n\r\nok$/)
  // Its first request was on its way.
  const late = once(fresh, 'data')
  fresh.write(post('/one', '{}'))
  while (replies.length === 3) await new Promise((resolve) => setImmediate(resolve))
  replies[3]!.writeHead(200, ['content-length', '2']).end('ok')
  assert.match(String(await late), /\r\nConnection: close\r\n\r\nok$/)
})

test('an answer that is over cannot end the connection under the next one', async () => {
  const replies: Reply[] = []
  await using both = await pair((reply) => void replies.push(reply))
  const socket = open(both.fronted)
  socket.write(post('/one', '{}').repeat(2))
  while (replies.length === 0) await new Promise((resolve) => setImmediate(resolve))
  replies[0]!.writeHead(200, ['content-length', '0']).end()
  while (replies.length === 1) await new Promise((resolve) => setImmediate(resolve))
  replies[0]!.destroy()
  const parts: Buffer[] = []
  socket.on('data', (part) => void (parts.push(part), String(part).endsWith('ok') && socket.end()))
  replies[1]!.writeHead(200, ['content-length', '2']).end('ok')
  await once(socket, 'close')
  assert.match(String(Buffer.concat(parts)), /\r\n\r\nok$/)
})

test('of a connection that is gone nothing more is read', async () => {
  await using both = await pair((reply, request) => {
    const socket = request.socket as Socket
    socket.destroy()
    reply.writeHead(200, ['content-length', '0']).end()
  })
  const socket = open(both.fronted).on('error', () => {})
  const closed = once(socket.resume(), 'close')
  socket.write(post('/one', '{}').repeat(2))
  await closed
  assert.equal(both.plain, 1)
})

test('an answer of another length than it promised is the last of its connection', async () => {
  for (const words of ['short', 'too long']) {
    await using both = await pair((reply) => void reply.writeHead(200, ['content-length', '6']).end(words))
    const socket = open(both.fronted)
    const closed = once(socket.resume(), 'close')
    socket.write(post('/one', '{}').repeat(2))
    await closed
    assert.equal(both.plain, 1, words)
  }
})

test('who was told to wait is told to go on, whatever was written meanwhile', async () => {
  const leaving: (() => void)[] = []
  const socket = new Writable({ highWaterMark: 65_536, write: (_bytes, _encoding, left) => void leaving.push(left) })
  const reply = new PlainReply(socket as Socket, { stays: () => true, keepAliveSeconds: 1, over: () => {} })
  socket.on('drain', () => reply.drained())
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  let goOn = 0
  reply.on('drain', () => void goOn++)
  reply.writeHead(200, [])
  for (const size of [60_000, 10_000]) {
    reply.write(Buffer.alloc(size))
    await turn()
  }
  leaving.shift()!()
  await turn()
  // The second piece is still on its way, and this one would find room.
  assert.equal(reply.write(Buffer.alloc(1_000)), false)
  await turn()
  while (leaving.length > 0) {
    leaving.shift()!()
    await turn()
  }
  assert.equal(goOn, 1)
  assert.equal(reply.writableNeedDrain, false)
})

test('no header can hold another one', async () => {
  const replies: Reply[] = []
  await using both = await pair((reply) => void replies.push(reply))
  const socket = open(both.fronted)
  socket.write(post('/one', '{}'))
  while (replies.length === 0) await new Promise((resolve) => setImmediate(resolve))
  for (const head of [
    ['x-one', 'a\r\nx-two: b'],
    ['x-one', 'a\nb'],
    ['x-one', 'Ā'],
    ['x one', 'a'],
    ['x-one:', 'a'],
    ['', 'a'],
  ])
    assert.throws(() => replies[0]!.writeHead(200, head), TypeError)
  socket.destroy()
})
