import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import { type AddressInfo, type Socket, createServer as createTcpServer } from 'node:net'
import { after, before, test } from 'node:test'
import type { Dispatcher } from 'undici'
import { addressPolicy } from '../address.ts'
import { createConnector } from './connector.ts'
import { Lane } from './lane.ts'
import { LIMITS } from '../limits.ts'
import { type Outbound, createOutbound } from '../outbound.ts'
import type { Send } from '../send.ts'

let server: Server
let origin: string
const sockets = new Set<Socket>()
let outbound: Outbound

before(async () => {
  server = createServer((request, response) => {
    if (request.url === '/early') return void response.writeHead(413, { 'content-length': 2 }).end('no')
    if (request.url === '/endless') {
      response.on('drain', more)
      return more()
    }
    const hash = createHash('sha256')
    request.on('data', (part: Buffer) => hash.update(part))
    request.on('end', () => response.end(hash.digest('hex')))
    function more(): void {
      while (response.write(Buffer.alloc(65_536)));
    }
  })
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  outbound = createOutbound(addressPolicy(['127.0.0.1/32']))
})
after(async () => {
  await outbound[Symbol.asyncDispose]()
  server.closeAllConnections()
  server.close()
})

function ask(send: Partial<Send>, to = outbound): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    let status = 0
    let text = ''
    to.dispatch(
      {
        origin,
        path: '/',
        method: 'POST',
        headers: ['content-type', 'text/plain'],
        body: null,
        credential: '',
        party: 'anybody',
        ...send,
      },
      {
        onRequestStart() {},
        onResponseStart: (_, code) => void (status = code),
        onResponseData: (_, chunk) => void (text += chunk.toString()),
        onResponseEnd: () => resolve({ status, text }),
        onResponseError: (_, error) => reject(error),
      },
    )
  })
}

test('concurrent calls each get their own response over reused connections', async () => {
  const call = async (bytes: Buffer, body: Buffer | string): Promise<void> => {
    const { text } = await ask({ body })
    assert.equal(text, createHash('sha256').update(bytes).digest('hex'))
  }
  for (let round = 0; round < 4; round++)
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => {
        const bytes = randomBytes(i % 4 === 0 ? 100_000 : i)
        return call(bytes, i % 2 === 0 ? bytes : bytes.toString('latin1'))
      }),
    )
  assert.ok(sockets.size <= 40, `${sockets.size} connections`)
})

test('a response before the end of its request is read, and the next call works', async () => {
  for (let i = 0; i < 3; i++) {
    const early = await ask({ path: '/early', body: Buffer.alloc(8 << 20) }).catch((error: Error) => error)
    // The server may reset the connection during the body, and then that error is reported.
    if (!(early instanceof Error)) assert.equal(early.status, 413)
    assert.equal((await ask({ body: 'x' })).text, createHash('sha256').update('x').digest('hex'))
  }
})

test('no request byte is sent after the end of its response, because its memory may be reused', async () => {
  let came = 0
  let foreign = 0
  // Answers at the head and reads the body only after all of it has had time to arrive.
  const early = createTcpServer((socket) => {
    socket
      .on('error', () => {})
      .once('data', (first: Buffer) => {
        came += first.length
        socket.pause().write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno')
        socket.on('data', (part) => {
          came += part.length
          foreign += part.includes('y') ? 1 : 0
        })
        setTimeout(() => socket.resume(), 100)
      })
  }).listen(0, '127.0.0.1')
  await once(early, 'listening')
  const body = Buffer.alloc(32 << 20, 'x')
  const closed = new Promise<void>((resolve) => early.once('connection', (one: Socket) => one.on('close', resolve)))
  const { status } = await ask({
    origin: `http://127.0.0.1:${(early.address() as AddressInfo).port}`,
    path: '/x',
    body,
  })
  body.fill('y')
  await closed
  assert.deepEqual([status, foreign], [200, 0])
  assert.ok(came < body.length, `${came} bytes`)
  early.close()
})

test('a paused reader applies back pressure, and a leaving reader closes the connection', async () => {
  let bytes = 0
  let pauseCount = 0
  await new Promise<void>((resolve) => {
    outbound.dispatch(
      { origin, path: '/endless', method: 'GET', headers: [], body: null, credential: '', party: 'anybody' },
      {
        onRequestStart() {},
        onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer) {
          bytes += chunk.length
          if (pauseCount === 0 && bytes > 1 << 20) {
            controller.pause()
            pauseCount = bytes
            setTimeout(() => {
              assert.equal(bytes, pauseCount, 'nothing comes while it pauses')
              controller.resume()
            }, 100)
          } else if (bytes > 4 << 20) controller.abort(new Error('enough'))
        },
        onResponseError(_, error) {
          assert.equal(error.message, 'enough')
          resolve()
        },
      },
    )
  })
})

test('a server that closes before or during its response is reported as such', async () => {
  const answers = [
    '',
    'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nha',
  ]
  const rude = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(answers.shift() ?? ''))
  })
  await new Promise<void>((resolve) => rude.listen(0, '127.0.0.1', resolve))
  const to = { origin: `http://127.0.0.1:${(rude.address() as AddressInfo).port}` }
  while (answers.length > 0) await assert.rejects(ask(to), { code: 'UK_CONNECTION_CLOSED' })
  rude.close()
})

test('headers and paths that would inject lines aren’t sent', async () => {
  const invalidSends: Partial<Send>[] = [
    { path: '/a b' },
    { path: '/a\r\nX: y' },
    { path: 'http://elsewhere/' },
    { headers: ['x', 'a\r\nb: c'] },
    { headers: ['x\r\ny', 'a'] },
    { headers: ['content-length', '1'] },
    { headers: ['host', 'elsewhere'] },
  ]
  for (const send of invalidSends) await assert.rejects(async () => ask(send), TypeError, JSON.stringify(send))
})

test('an unreachable server fails all waiting calls, including those above the connection limit', async () => {
  let attempts = 0
  const lane = new Lane('127.0.0.1:9', {
    mostConnections: 2,
    idleMs: 4_000,
    idle: { count: 0, most: 10, shed() {} },
    connect(done) {
      attempts += 1
      setImmediate(() => done(new Error('refused'), null))
    },
  })
  const wait = (): Promise<Error> =>
    new Promise((resolve) => {
      const handler = { onRequestStart() {}, onResponseError: (_: unknown, error: Error) => resolve(error) }
      lane.dispatch({
        method: 'GET',
        head: '',
        body: null,
        streamed: null,
        handler,
        limits: LIMITS,
        party: 'anybody',
        withinMs: 1_000,
        elapsedMs: 0,
      })
    })
  const errors = await Promise.all(Array.from({ length: 7 }, wait))
  assert.deepEqual(
    errors.map(({ message }) => message),
    Array.from({ length: 7 }, () => 'refused'),
  )
  assert.equal(attempts, 7)
})

test('an abandoned idle connection isn’t reused', async () => {
  const before = sockets.size
  const { hostname, port, protocol, host } = new URL(origin)
  const lane = new Lane(host, {
    mostConnections: 2,
    idleMs: 4_000,
    idle: { count: 0, most: 10, shed() {} },
    connect: createConnector({ protocol, hostname, port: Number(port) }, { timeoutMs: 1_000 }),
  })
  const get = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const handler = { onResponseEnd: () => resolve(), onResponseError: (_: unknown, error: Error) => reject(error) }
      const head = `GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`
      lane.dispatch({
        method: 'GET',
        head,
        body: null,
        streamed: null,
        handler,
        limits: LIMITS,
        party: 'anybody',
        withinMs: 1_000,
        elapsedMs: 0,
      })
    })
  await get()
  lane.turn(5_000)
  await get()
  assert.equal(sockets.size, before + 2)
  lane.destroy()
})

test('calls canceled while waiting open no connection', async () => {
  const own = createOutbound(addressPolicy(['127.0.0.1/32']))
  const before = sockets.size
  const leave = (): Promise<string> =>
    new Promise((resolve) =>
      own.dispatch(
        { origin, path: '/', method: 'POST', headers: [], body: 'x', credential: '', party: 'anybody' },
        {
          onRequestStart: (controller) => controller.abort(new Error('left')),
          onResponseError: (_, { message }) => resolve(message),
        },
      ),
    )
  assert.equal(await leave(), 'left')
  for (let i = 0; i < 3; i++) assert.equal(await leave(), 'left')
  assert.equal((await ask({ body: 'z' }, own)).text, createHash('sha256').update('z').digest('hex'))
  assert.equal(sockets.size, before + 1)
  await own[Symbol.asyncDispose]()
})

test('the controller of a finished response can’t affect the connection’s next call', async () => {
  const own = createOutbound(addressPolicy(['127.0.0.1/32']))
  let dispatchController: Dispatcher.DispatchController | undefined
  await new Promise<void>((resolve, reject) =>
    own.dispatch(
      { origin, path: '/', method: 'POST', headers: [], body: 'x', credential: '', party: 'anybody' },
      {
        onRequestStart: (controller) => void (dispatchController = controller),
        onResponseEnd: () => resolve(),
        onResponseError: (_, error) => reject(error),
      },
    ),
  )
  const next = ask({ body: 'y' }, own)
  dispatchController!.pause()
  dispatchController!.abort(new Error('too late'))
  assert.equal((await next).text, createHash('sha256').update('y').digest('hex'))
  await own[Symbol.asyncDispose]()
})

test('a reader that throws at the end of a response gets its error', async () => {
  const error = await new Promise<Error>((resolve) =>
    outbound.dispatch(
      { origin, path: '/', method: 'POST', headers: [], body: 'x', credential: '', party: 'anybody' },
      {
        onRequestStart() {},
        onResponseEnd() {
          throw new Error('unreadable')
        },
        onResponseError: (_, failure) => resolve(failure),
      },
    ),
  )
  assert.equal(error.message, 'unreadable')
})
