import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { LARGE, openHeldPair, open, pair, post, turn } from '../test/pair.ts'
import { FastReply } from './reply.ts'

test('an unread response delays the next request, and continues when read', async () => {
  await using both = await pair()
  const socket = open(both.fronted)
  socket.pause()
  socket.write(post('/large', '').repeat(2))
  while (both.fast === 0) await turn()
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(both.fast, 1)
  await new Promise<void>((resolve) => {
    let bytesRead = 0
    socket.on('data', (part) => void ((bytesRead += part.length) >= 2 * LARGE && resolve())).resume()
  })
  assert.equal(both.fast, 2)
  socket.destroy()
})

test('a slow request is handed over with its received bytes', async () => {
  await using both = await pair()
  const socket = open(both.fronted)
  const request = post('/one', '{"a":1}')
  socket.write(request.slice(0, -3))
  await new Promise((resolve) => setTimeout(resolve, 400))
  socket.write(request.slice(-3))
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  assert.match(bytes.toString(), /^HTTP\/1\.1 200 OK/)
  assert.ok(bytes.toString().includes(JSON.stringify('{"a":1}')))
  assert.equal(both.fast, 0)
  socket.destroy()
})

test('leaving clients are noticed at once, and a closing server finishes its responses', async () => {
  await using both = await openHeldPair()
  const leaver = both.open()
  leaver.write(post('/one', '{}'))
  const unheard = await both.reply(0)
  const leave = new Promise<void>((resolve) => unheard.on('close', resolve))
  leaver.destroy()
  await leave
  assert.equal(unheard.destroyed, true)
  assert.equal(unheard.write('nobody reads it'), false)

  const idle = both.open()
  idle.write(post('/one', '{}'))
  const quick = await both.reply(1)
  const reply = new Promise<void>((resolve) => quick.on('close', resolve))
  quick.writeHead(200, ['content-length', '0']).end()
  await reply
  const fresh = both.open()
  await once(fresh, 'connect')
  const busy = both.open()
  busy.write(post('/one', '{}'))
  const last = await both.reply(2)
  const closed = [idle, busy].map((socket) => once(socket.resume(), 'close'))
  const parts: Buffer[] = []
  busy.on('data', (part) => parts.push(part))
  both.connections.close()
  await closed[0]
  busy.write(post('/one', '{"a":1}'))
  last.writeHead(200, ['content-length', '2']).end('ok')
  busy.write(post('/one', '{"a":2}'))
  await closed[1]
  assert.equal(both.fast, 3)
  const text = Buffer.concat(parts).toString()
  assert.match(text, /\r\nConnection: close\r\n\r\nok$/)
  const late = once(fresh, 'data')
  fresh.write(post('/one', '{}'))
  ;(await both.reply(3)).writeHead(200, ['content-length', '2']).end('ok')
  assert.match(String(await late), /\r\nConnection: close\r\n\r\nok$/)
})

test('a finished response can’t end the connection under the next one', async () => {
  await using both = await openHeldPair()
  const socket = both.open()
  socket.write(post('/one', '{}').repeat(2))
  const over = await both.reply(0)
  over.writeHead(200, ['content-length', '0']).end()
  const next = await both.reply(1)
  over.destroy()
  const parts: Buffer[] = []
  socket.on('data', (part) => void (parts.push(part), String(part).endsWith('ok') && socket.end()))
  next.writeHead(200, ['content-length', '2']).end('ok')
  await once(socket, 'close')
  assert.match(String(Buffer.concat(parts)), /\r\n\r\nok$/)
})

test('nothing more is read from a lost connection', async () => {
  await using both = await pair((reply, request) => {
    const socket = request.socket as Socket
    socket.destroy()
    reply.writeHead(200, ['content-length', '0']).end()
  })
  const socket = open(both.fronted).on('error', () => {})
  const closed = once(socket.resume(), 'close')
  socket.write(post('/one', '{}').repeat(2))
  await closed
  assert.equal(both.fast, 1)
})

test('a response with a wrong length is the connection’s last', async () => {
  for (const words of ['short', 'too long']) {
    await using both = await pair((reply) => void reply.writeHead(200, ['content-length', '6']).end(words))
    const socket = open(both.fronted)
    const closed = once(socket.resume(), 'close')
    socket.write(post('/one', '{}').repeat(2))
    await closed
    assert.equal(both.fast, 1, words)
  }
})

test('a blocked writer gets `drain`, whatever was written meanwhile', async () => {
  const leaving: (() => void)[] = []
  const socket = new Writable({
    highWaterMark: 65_536,
    write: (_bytes, _encoding, callback) => void leaving.push(callback),
  })
  const reply = new FastReply(socket as Socket, { stays: () => true, keepAliveSeconds: 1, over: () => {} })
  socket.on('drain', () => reply.onDrain())
  let goOn = 0
  reply.on('drain', () => void goOn++)
  reply.writeHead(200, [])
  for (const size of [60_000, 10_000]) {
    reply.write(Buffer.alloc(size))
    await turn()
  }
  leaving.shift()!()
  await turn()
  // The second piece is still being sent, and this one would fit.
  assert.equal(reply.write(Buffer.alloc(1_000)), false)
  await turn()
  while (leaving.length > 0) {
    leaving.shift()!()
    await turn()
  }
  assert.equal(goOn, 1)
  assert.equal(reply.writableNeedDrain, false)
})

test('no header can contain another one', async () => {
  await using both = await openHeldPair()
  const socket = both.open()
  socket.write(post('/one', '{}'))
  const reply = await both.reply(0)
  for (const head of [
    ['x-one', 'a\r\nx-two: b'],
    ['x-one', 'a\nb'],
    ['x-one', 'Ā'],
    ['x one', 'a'],
    ['x-one:', 'a'],
    ['', 'a'],
  ])
    assert.throws(() => reply.writeHead(200, head), TypeError)
  socket.destroy()
})
