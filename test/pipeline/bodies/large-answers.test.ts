import assert from 'node:assert/strict'
import { once } from 'node:events'
import { ServerResponse } from 'node:http'
import { type Socket, connect } from 'node:net'
import { test } from 'node:test'
import { charactersOf, PIECE } from '#core/json/json-pieces.ts'
import { type Caller, type TestServer, testServer } from '../../server.ts'

async function importChat(who: Caller, count: number, text: (n: number) => string): Promise<string> {
  const messages = Array.from({ length: count }, (_, n) => ({
    role: n % 2 === 0 ? 'user' : 'assistant',
    id: String(n),
    parent_id: n === 0 ? null : String(n - 1),
    text: text(n),
  }))
  const response = await who.post('/chats/import', {
    source: 'elsewhere',
    external_id: text(0).slice(0, 9),
    title: 'Long',
    messages,
  })
  assert.ok(response.status < 300, response.text.slice(0, 500))
  return response.body.data.id
}

async function ask(server: TestServer, key: Caller, path: string): Promise<Socket> {
  const { host, port } = new URL(server.origin)
  const socket = connect(Number(port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(
    `GET /v1${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${key.headers['authorization']}\r\nConnection: close\r\n\r\n`,
  )
  return socket
}

/** The most bytes written to responses in one event-loop turn during `work`. */
async function mostWritten(work: Promise<unknown>): Promise<{ most: number; total: number }> {
  const { write, end } = ServerResponse.prototype
  let [total, most] = [0, 0]
  const state = { isOver: false }
  const count = (bytes: unknown): void => {
    if (typeof bytes === 'string' || bytes instanceof Uint8Array) total += Buffer.byteLength(bytes)
  }
  ServerResponse.prototype.write = function (this: ServerResponse, ...args: Parameters<typeof write>) {
    count(args[0])
    return write.apply(this, args)
  } as typeof write
  ServerResponse.prototype.end = function (this: ServerResponse, ...args: unknown[]) {
    count(args[0])
    return (end as (...of: unknown[]) => ServerResponse).apply(this, args)
  } as typeof end
  try {
    const done = work.finally(() => (state.isOver = true))
    for (let last = 0; !state.isOver; last = total) {
      await new Promise(setImmediate)
      most = Math.max(most, total - last)
    }
    await done
    return { most, total }
  } finally {
    Object.assign(ServerResponse.prototype, { write, end })
  }
}

test('large lists and exports of one account are written in one or two pieces per event-loop turn', async () => {
  await using server = await testServer()
  const alice = await (await server.person('Alice')).key()
  const chat = await importChat(alice, 10, (n) => `${n} ${'é'.repeat(75_000)}`)
  for (const path of [
    'messages?limit=100',
    'messages?limit=100&branch=all',
    'export?format=json',
    'export?format=html',
  ]) {
    const readers = Array.from({ length: 4 }, async () => {
      const socket = await ask(server, alice, `/chats/${chat}/${path}`)
      socket.resume()
      await once(socket, 'close')
    })
    const { most, total } = await mostWritten(Promise.all(readers))
    assert.ok(total > readers.length * 4 * PIECE, `${path}: ${total} bytes`)
    assert.ok(most <= 4 * PIECE, `${path}: ${most} bytes in one turn`)
  }
})

test('a large response has a length and the same content as a small one', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const chat = await importChat(alice, 2, (n) => `${n} ${'"\\é\n'.repeat(50_000)}`)
  const list = await alice.get(`/chats/${chat}/messages`)
  assert.ok(charactersOf(list.body) > PIECE)
  assert.equal(Number(list.headers.get('content-length')), Buffer.byteLength(list.text))
  assert.equal(list.text, JSON.stringify(list.body))
  assert.deepEqual(
    list.body.data.map(({ text }: { text: string }) => text.length),
    [200_002, 200_002],
  )
})

test('callers who leave during large responses don’t block others', async () => {
  await using server = await testServer()
  const alice = await (await server.person('Alice')).key()
  const bob = await (await server.person('Bob')).key()
  const chat = await importChat(alice, 10, (n) => `${n} ${'x'.repeat(100_000)}`)
  const sockets = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      ask(server, alice, n % 2 === 0 ? `/chats/${chat}/messages?limit=100` : `/chats/${chat}/export?format=json`),
    ),
  )
  await Promise.all(sockets.map((socket) => once(socket, 'data')))
  for (const socket of sockets) socket.destroy()
  assert.equal((await bob.get('/me')).status, 200)
  const exportReply = await alice.get(`/chats/${chat}/export?format=json`)
  assert.equal(exportReply.body.messages.length, 10)
})
