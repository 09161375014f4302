import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { test } from 'node:test'
import fc from 'fast-check'
import { PATHS, open, pair, post, turn } from '../test/pair.ts'
import { FastHeads, readFastHead } from './head.ts'

/** Everything received until the server closes. Sends one piece per turn. */
async function exchange(server: Server, pieces: readonly Buffer[]): Promise<string> {
  const socket = open(server)
  const parts: Buffer[] = []
  socket.on('data', (part) => parts.push(part)).on('error', () => {})
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  for (const piece of pieces) {
    socket.write(piece)
    await turn()
  }
  await closed
  return Buffer.concat(parts)
    .toString('latin1')
    .replaceAll(/\r\nDate: [^\r]+ GMT\r\n/g, '\r\nDate: now\r\n')
}

function splitAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end))
}

const withHeader = (line: string): string => post('/one', '{}', `${line}\r\n`)
const LAST = 'GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

const ordinary = fc
  .tuple(
    fc.constantFrom('/one', '/two/three', '/one?beta=true', '/stream', '/at-once'),
    fc.string({ unit: 'binary-ascii', maxLength: 40 }),
    fc.constantFrom(
      '',
      'X-Key: a b  \r\n',
      'connection: keep-alive\r\n',
      'authorization:Bearer x\r\nuser-agent: \tme\r\n',
    ),
  )
  .map(([path, body, more]) => post(path, body, more))
const unusual = [
  post('/elsewhere', '{}'),
  post('/one#x', '{}'),
  ...['x-one: ü', 'X-One: a\r\nx-one: b', 'x-empty:', 'Set-Cookie: a=b', 'Expect: 100-continue'].map(withHeader),
  post('/one', '{}').replace('Length: 2', 'Length: 02'),
  post('/one', '{}').replace('POST', 'PUT'),
  'POST /one HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  'GET /one HTTP/1.1\r\nHost: x\r\n\r\n',
]
const ending = [
  ...[
    'Content-Length: 2',
    'Content-Length: 3',
    'Transfer-Encoding: chunked',
    'X-Ümlaut: x',
    'x-folded: a\r\n b',
    'no name: a',
    'nothing',
    'x-zero: a\0b',
    'x-one : a',
    'Connection: close',
    'Proxy-Connection: close',
  ].map(withHeader),
  post('/one', '{}', 'x-bare: a\n'),
  post('/one', '{}').replace('Host: x\r\n', ''),
  post('/one', '{}').replace('HTTP/1.1', 'HTTP/1.0'),
  post('/one', '{}').replace('Length: 2', 'Length: +2'),
  post('/one', '{}').replace('POST /', 'POST  /'),
  'POST /one HTTP/1.1\r\nHost: x\r\n\r\n',
  '\r\n\r\n',
  'nonsense\r\n\r\n',
]

test('responses equal those of Node’s server byte for byte, however requests are split', async () => {
  await using both = await pair()
  const requests = fc.array(
    fc.oneof({ weight: 3, arbitrary: ordinary }, { weight: 1, arbitrary: fc.constantFrom(...unusual) }),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  await fc.assert(
    fc.asyncProperty(requests, fc.array(fc.nat(), { maxLength: 3 }), async (parts, places) => {
      const pieces = splitAt(Buffer.from(parts.join('') + LAST, 'latin1'), places)
      const [bare, fronted] = await Promise.all([exchange(both.bare, pieces), exchange(both.fronted, pieces)])
      assert.equal(fronted, bare)
    }),
    { numRuns: 150 },
  )
  assert.ok(both.fast > 50, `${both.fast} requests came the short way`)
})

test('unusual requests go to Node’s server, alone and after an ordinary one', async () => {
  await using both = await pair()
  const first = post('/one', '{"a":1}')
  const output = await exchange(both.bare, [Buffer.from(first + LAST)])
  const firstReply = output.slice(0, output.indexOf('HTTP/1.1 404'))
  for (const request of [...unusual, ...ending]) {
    const pieces = [Buffer.from(request + LAST, 'latin1')]
    const bare = await exchange(both.bare, pieces)
    assert.equal(await exchange(both.fronted, pieces), bare, request)
    // Node drops its pending response when malformed bytes follow.
    assert.equal(await exchange(both.fronted, [Buffer.from(first), ...pieces]), firstReply + bare, request)
  }
})

const RULES = { paths: PATHS, elsewhere: (host: string) => host.startsWith('p5173-') }

test('requests for other origins than the API don’t use the fast path', () => {
  const head = post('/one', '', '')
  assert.ok(readFastHead(head, RULES))
  assert.equal(readFastHead(head.replace(/host: .*/i, 'Host: p5173-x.localhost'), RULES), null)
})

test('protocol changes don’t use the fast path', () => {
  for (const more of ['Upgrade: h2c\r\n', 'Connection: upgrade\r\n', 'Connection: keep-alive, close\r\n']) {
    const head = post('/one', '', more)
    assert.equal(readFastHead(head, RULES), null, more)
  }
})

test('a connection caches its last head unless it is long', () => {
  for (const [more, isRemembered] of [
    ['', true],
    [`x-long: ${'x'.repeat(8_000)}\r\n`, false],
  ] as const) {
    const heads = new FastHeads(RULES)
    const first = heads.read(post('/one', '', more))
    assert.deepEqual(heads.read(post('/one', '', more)), first)
    assert.equal(heads.read(post('/one', '', more)) === first, isRemembered)
    assert.equal(heads.read(post('/one', '123', more).slice(0, -3))!.length, 3)
  }
})
