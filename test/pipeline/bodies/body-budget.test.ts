import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { test } from 'node:test'
import { ReceivedBodies, receivedBodies } from '#infra/bodies/received-bodies.ts'
import { Refusal } from '#core/errors.ts'
import { testServer } from '../../server.ts'
import { bring } from '../../endpoints/house.ts'
import { startOpenAI } from '../../vendors/openai/openai.ts'

const refusalOf = (work: () => void): Refusal | null => {
  try {
    work()
    return null
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return error
  }
}

test('body bytes are limited per account and per process until requests end', () => {
  const bodies = new ReceivedBodies({ account: 4 << 20, process: 6 << 20 })
  using alice = bodies.share('alice')
  alice.add(3 << 20)
  const second = bodies.share('alice')
  second.add(1 << 20)
  const [own, all] = [() => second.add(1), () => bodies.share('bob').add((2 << 20) + 1)].map(refusalOf)
  assert.deepEqual([own?.status, own?.headers?.['retry-after']], [429, '2'])
  assert.match(own!.message, /exceed 4 MiB/)
  assert.deepEqual([all?.status, all?.headers?.['retry-after']], [429, '5'])
  second[Symbol.dispose]()
  second[Symbol.dispose]()
  assert.equal(bodies.bytes, 3 << 20)
  bodies.share('bob').add(3 << 20)
})

test('large bodies of one account are read one at a time without delaying other accounts', async () => {
  const bodies = new ReceivedBodies({ account: 1 << 30, process: 1 << 30 })
  const order: string[] = []
  const read = (account: string, name: string, bytes: number): Promise<void> => {
    const share = bodies.share(account)
    share.add(bytes)
    const turn = share.turn() ?? Promise.resolve()
    return turn.then(() => void order.push(name))
  }
  const all = [read('alice', 'a1', 2 << 20), read('alice', 'a2', 2 << 20), read('alice', 'a3', 2 << 20)]
  await Promise.all([read('bob', 'b1', 2 << 20), read('alice', 'small', 1_000)])
  assert.deepEqual(order.toSorted(), ['a1', 'b1', 'small'])
  await Promise.all(all)
  assert.deepEqual(order.slice(3), ['a2', 'a3'])
})

test('connections sending 31 of 32 MiB are refused beyond 128 MiB, while others are served', async () => {
  await using server = await testServer()
  // The first person has unlimited credits.
  const bob = await (await server.person('Bob')).key()
  const alice = await (await server.person('Alice')).key()
  const small = { model: 'sim/echo', messages: [{ role: 'user', content: 'hello' }] }
  const body = Buffer.alloc(31 << 20, ' ')
  const sockets: Socket[] = []
  const send = async (path: string): Promise<Socket> => {
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1')
    sockets.push(socket)
    await once(socket, 'connect')
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${new URL(server.origin).host}\r\nAuthorization: ${alice.headers['authorization']}\r\nContent-Type: application/json\r\nContent-Length: ${32 << 20}\r\n\r\n`,
    )
    socket.on('error', () => {})
    await new Promise((resolve) => socket.write(body, resolve))
    return socket
  }
  const before = receivedBodies.bytes
  const paths = ['/compat-a/v1/chat/completions', '/compat-b/v1/messages', '/v1/inference/text', '/v1/inference/text']
  for (const path of paths) await send(path)
  while (receivedBodies.bytes - before < 4 * body.length) await new Promise(setImmediate)
  for (const path of ['/compat-a/v1/chat/completions', '/v1/inference/text']) {
    const socket = await send(path)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    assert.match(answer.toString(), /^HTTP\/1\.1 429 [\s\S]*retry-after: 2\r\n/i, path)
  }
  assert.equal((await bob.post('/compat-a/v1/chat/completions', small)).status, 200)
  for (const socket of sockets) socket.destroy()
  while (receivedBodies.bytes > before) await new Promise(setImmediate)
  const again = await alice.post('/inference/text', { ...small, model: 'x'.repeat(2 << 20) })
  assert.deepEqual([again.status, again.body.error.param], [400, 'model'], 'the body is read again')
})

test('a large body counts until its response ends, on every surface', async () => {
  await using server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } })
  await using vendor = await startOpenAI()
  const alice = await (await server.person('Alice')).key()
  await bring(alice, vendor, 'slow', { models: [{ id: 'm' }], test: false })
  const text = 'x'.repeat(3 << 20)
  const paths = [
    'v1/inference/text',
    'compat-a/v1/chat/completions',
    'compat-b/v1/messages',
    'compat-c/v1/chat/completions',
  ]
  for (const path of paths) {
    const before = receivedBodies.bytes
    vendor.script({ hang: true })
    const leaving = new AbortController()
    const call = fetch(`${server.origin}/${path}`, {
      method: 'POST',
      headers: { ...alice.headers, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'slow/m',
        ...(path.includes('compat') && { max_tokens: 5 }),
        messages: [{ role: 'user', content: text }],
      }),
      signal: leaving.signal,
    })
    await Promise.race([
      vendor.arrival(vendor.requests.length),
      call.then(async (answer) => assert.fail(await answer.text())),
    ])
    assert.ok(receivedBodies.bytes - before >= text.length, path)
    leaving.abort()
    await assert.rejects(call)
    while (receivedBodies.bytes > before) await new Promise(setImmediate)
  }
})

test('fast senders deliver a bounded number of bytes per event-loop turn', async () => {
  await using server = await testServer()
  const alice = await (await server.person('Alice')).key()
  const { host, port } = new URL(server.origin)
  const [count, size] = [12, 8 << 20]
  for (const path of ['/compat-a/v1/chat/completions', '/v1/inference/text']) {
    const before = receivedBodies.bytes
    const body = Buffer.alloc(size, ' ')
    const sockets = Array.from({ length: count }, () => connect(Number(port), '127.0.0.1'))
    for (const socket of sockets) {
      await once(socket, 'connect')
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${alice.headers['authorization']}\r\nContent-Type: application/json\r\nContent-Length: ${size + 1}\r\n\r\n`,
      )
      socket.write(body)
    }
    let most = 0
    for (let last = 0; last < count * size;) {
      await new Promise(setImmediate)
      const bytes = receivedBodies.bytes - before
      // The first bytes of each aren't paced.
      if (last > count * (512 << 10)) most = Math.max(most, bytes - last)
      last = bytes
    }
    assert.ok(most > 0 && most <= 2 << 20, `${path}: ${most} bytes in one turn`)
    for (const socket of sockets) socket.destroy()
    while (receivedBodies.bytes > before) await new Promise(setImmediate)
  }
})
