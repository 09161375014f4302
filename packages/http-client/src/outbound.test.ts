import assert from 'node:assert/strict'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { addressPolicy } from './address.ts'
import { retrieve } from './retrieve.ts'
import { type Outbound, createOutbound } from './outbound.ts'
import type { Send } from './send.ts'

const none = addressPolicy([])
const permits = (address: string, port = 443): boolean => none.permits('example.com', address, port)

test('public addresses are permitted', () => {
  for (const address of [
    '1.1.1.1',
    '104.18.6.192',
    '2606:4700::6810:1',
    '2a00:1450:4001:80f::200e',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
  ])
    assert.equal(permits(address), true, address)
})

test('private, local and reserved addresses are refused in every form', () => {
  const rejectedAddresses = [
    '127.0.0.1 127.8.8.8 0.0.0.0 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 192.0.0.8',
    '198.18.0.1 203.0.113.7 224.0.0.1 240.0.0.1 255.255.255.255 2130706433 0x7f000001 0177.0.0.1 :: ::1 ::127.0.0.1',
    '::ffff:127.0.0.1 ::ffff:a00:1 fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 2001:db8::1 2002:7f00:1::',
    '64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 2001::1 localhost',
  ].flatMap((line) => line.split(' '))
  rejectedAddresses.push('', 'not an address')
  for (const address of rejectedAddresses) assert.equal(permits(address), false, address)
})

test('a policy allows only what it lists', () => {
  const policy = addressPolicy([
    'gpu.local:8000',
    '127.0.0.1:9000',
    '10.0.0.0/8',
    '192.168.7.0/24:11434',
    '[::1]:8080',
    'fd00::/8',
  ])
  const open: [string, string, number][] = [
    ['gpu.local', '192.168.1.9', 8000],
    ['GPU.local', '192.168.1.9', 8000],
    ['localhost', '127.0.0.1', 9000],
    ['127.0.0.1', '::ffff:127.0.0.1', 9000],
    ['a', '10.9.9.9', 1],
    ['b', '192.168.7.7', 11434],
    ['::1', '::1', 8080],
    ['c', 'fd12::1', 443],
  ]
  const cases: [string, string, number][] = [
    ['gpu.local', '192.168.1.9', 8001],
    ['other.local', '192.168.1.9', 8000],
    ['127.0.0.1', '127.0.0.1', 9001],
    ['b', '192.168.7.7', 80],
    ['b', '192.168.8.7', 11434],
    ['::1', '::1', 8081],
    ['c', 'fc00::1', 443],
  ]
  for (const line of open) assert.equal(policy.permits(...line), true, line.join(' '))
  for (const line of cases) assert.equal(policy.permits(...line), false, line.join(' '))
})

test('a line that is neither host:port nor a network is refused with an example', () => {
  for (const line of ['gpu.local', 'a b:80', '10.0.0.0/33', 'host:99999', ':80', '[gpu.local]:80', ''])
    assert.throws(() => addressPolicy([line]), /such as gpu\.local:8000/, line)
})

let server: Server
let port: number
let hits = 0
before(async () => {
  server = createServer((request, response) => {
    hits += 1
    if (request.url === '/moved') response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end()
    else if (request.url !== '/hang') response.end('hello')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
after(() => {
  server.closeAllConnections()
  server.close()
})

function ask(outbound: Outbound, send: Partial<Send>): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    let status = 0
    let text = ''
    outbound.dispatch(
      {
        origin: `http://localhost:${port}`,
        path: '/',
        method: 'GET',
        headers: [],
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

test('names and literals of private addresses are refused before anything is sent', async () => {
  await using outbound = createOutbound(none)
  hits = 0
  for (const host of ['localhost', '127.0.0.1', '127.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]'])
    await assert.rejects(
      ask(outbound, { origin: new URL(`http://${host}:${port}`).origin }),
      { code: 'UK_ADDRESS_REFUSED' },
      host,
    )
  assert.equal(hits, 0)
})

test('allowed addresses are reachable, and private ones if the administrator allows them', async () => {
  await using outbound = createOutbound(addressPolicy([`127.0.0.0/8:${port}`]))
  assert.equal((await ask(outbound, {})).text, 'hello')
  await using strict = createOutbound(none)
  assert.equal((await ask(strict, { mayBePrivate: true })).text, 'hello')
  await assert.rejects(
    ask(strict, {}),
    { code: 'UK_ADDRESS_REFUSED' },
    'connections of the one are not lent to the other',
  )
})

test('a redirect is returned, not followed', async () => {
  await using outbound = createOutbound(none)
  hits = 0
  assert.equal((await ask(outbound, { mayBePrivate: true, path: '/moved' })).status, 302)
  assert.equal(hits, 1)
})

test('a server that never answers times out', async () => {
  await using outbound = createOutbound(none, { headMs: 100 })
  await assert.rejects(ask(outbound, { mayBePrivate: true, path: '/hang' }), { code: 'UK_ANSWER_TIMEOUT' })
})

test('a canceled request isn’t sent', async () => {
  await using outbound = createOutbound(none)
  hits = 0
  const options = { mostBytes: 1_000, timeoutMs: 1_000, hops: 0, mayBePrivate: true, credential: '', party: 'anybody' }
  const abortedSignal = AbortSignal.abort(new Error('gone'))
  const url = new URL(`http://127.0.0.1:${port}/`)
  await assert.rejects(retrieve(outbound, { ...options, url, signal: abortedSignal }), /gone/)
  // The second call follows anything the first one sent.
  assert.equal((await retrieve(outbound, { ...options, url })).status, 200)
  assert.equal(hits, 1)
})

test('a large body is sent while it is read, and a wrong length fails the request', async () => {
  const requests: { length: string | undefined; size: number }[] = []
  await using server = createServer((request, response) => {
    let size = 0
    request.on('data', (part: Buffer) => (size += part.length))
    request.on('end', () => {
      requests.push({ length: request.headers['content-length'], size })
      response.end('taken')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await using outbound = createOutbound(addressPolicy(['127.0.0.0/8']))
  async function* parts(count: number) {
    for (let i = 0; i < count; i++) yield Buffer.alloc(1 << 20, i)
  }
  const post = (length: number, count: number) =>
    new Promise<number>((resolve, reject) => {
      const send: Send = {
        origin: `http://127.0.0.1:${port}`,
        path: '/',
        method: 'POST',
        headers: [],
        body: null,
        streamed: { bytes: parts(count), length },
        credential: 'none',
        party: 'test',
      }
      outbound.dispatch(send, {
        onResponseStart: (_, status) => resolve(status),
        onResponseError: (_, error) => reject(error),
      })
    })
  assert.equal(await post(24 << 20, 24), 200)
  await assert.rejects(post(3 << 20, 2), /should have 3145728 bytes/)
  await assert.rejects(post(1 << 20, 2), /should have 1048576 bytes/)
  assert.equal(await post(2 << 20, 2), 200)
  assert.deepEqual(requests, [
    { length: String(24 << 20), size: 24 << 20 },
    { length: String(2 << 20), size: 2 << 20 },
  ])
})
