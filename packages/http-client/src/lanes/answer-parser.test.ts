import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AnswerParser } from './answer-parser.ts'

interface ParsedAnswer {
  heads: [number, Record<string, unknown>][]
  body: string
  ended: boolean
  keepAlive: boolean
}

function read(pieces: readonly Buffer[], { method = 'GET', closes = false } = {}): ParsedAnswer {
  const answer: ParsedAnswer = { heads: [], body: '', ended: false, keepAlive: false }
  const parts: Buffer[] = []
  const parser = new AnswerParser({
    head: (status, headers) => void answer.heads.push([status, { ...headers }]),
    data: (bytes) => void parts.push(Buffer.from(bytes)),
    end: () => {
      answer.ended = true
      answer.keepAlive = parser.keepAlive
    },
  })
  parser.expect(method)
  for (const piece of pieces) parser.push(piece)
  if (closes) parser.finish()
  answer.body = Buffer.concat(parts).toString('latin1')
  return answer
}

const whole = (text: string): Buffer[] => [Buffer.from(text, 'latin1')]

function splitAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end))
}

const chunkedBody = (parts: readonly string[]): string =>
  `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n`

test('a response parses the same however the network splits it', () => {
  const text = fc.string({ unit: 'binary-ascii', maxLength: 60 })
  fc.assert(
    fc.property(
      fc.array(text, { maxLength: 6 }),
      fc.constantFrom('length', 'chunked', 'close'),
      fc.array(fc.nat(), { maxLength: 12 }),
      (chunks, framing, places) => {
        const parts = chunks.filter((part) => part !== '')
        const body = parts.join('')
        const head =
          'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-One:  two words \t\r\nSet-Cookie: a\r\nset-cookie: b\r\n'
        const bytes = Buffer.from(
          framing === 'length'
            ? `${head}Content-Length: ${body.length}\r\n\r\n${body}`
            : framing === 'chunked'
              ? `${head}Transfer-Encoding: chunked\r\n\r\n${chunkedBody(parts)}Trailer: x\r\n\r\n`
              : `${head}\r\n${body}`,
          'latin1',
        )
        const answer = read(splitAt(bytes, places), { closes: framing === 'close' })
        assert.equal(answer.body, body)
        assert.ok(answer.ended)
        assert.equal(answer.keepAlive, framing !== 'close')
        assert.equal(answer.heads.length, 1)
        const [status, headers] = answer.heads[0]!
        assert.equal(status, 200)
        assert.equal(headers['x-one'], 'two words')
        assert.deepEqual(headers['set-cookie'], ['a', 'b'])
      },
    ),
  )
})

test('interim heads are reported, and responses without a body end with their head', () => {
  const answer = read(whole('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n'))
  assert.deepEqual(
    answer.heads.map(([status]) => status),
    [103, 204],
  )
  assert.ok(answer.ended && answer.keepAlive)
  assert.ok(read(whole('HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n')).ended)
  assert.ok(read(whole('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n'), { method: 'HEAD' }).ended)
})

test('a connection is kept only if both sides allow it', () => {
  const keepsAlive = (head: string): boolean => read(whole(`${head}\r\nContent-Length: 0\r\n\r\n`)).keepAlive
  assert.equal(keepsAlive('HTTP/1.1 200 OK'), true)
  assert.equal(keepsAlive('HTTP/1.1 200 OK\r\nConnection: Keep-Alive'), true)
  assert.equal(keepsAlive('HTTP/1.1 200 OK\r\nConnection: close'), false)
  assert.equal(keepsAlive('HTTP/1.0 200 OK'), false)
  assert.equal(keepsAlive('HTTP/1.0 200 OK\r\nConnection: keep-alive'), true)
})

test('bytes after a response end the connection and don’t answer the next request', () => {
  const answer = read(
    whole('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother'),
  )
  assert.equal(answer.body, 'ok')
  assert.equal(answer.heads.length, 1)
  assert.equal(answer.keepAlive, false)
})

test('an ambiguous response is refused', () => {
  for (const head of [
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked',
    'HTTP/1.1 200 OK\r\nContent-Length: +5',
    'HTTP/1.1 200 OK\r\nContent-Length: 0x5',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity',
    'HTTP/1.1 200 OK\r\nA: b\r\n folded: c',
    'HTTP/1.1 200 OK\r\nA : b',
    'HTTP/1.1 200 OK\r\n: b',
    'HTTP/1.1 200 OK\r\nno colon',
    'HTTP/1.1 200 OK\r\nA: b\0c',
    'HTTP/1.1 200 OK\r\nA: b\nB: c',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x',
    'HTTP/1.1 20 OK',
    'HTTP/1.1 2e2 OK',
    'HTTP/1.1 0200 OK',
    'HTTP/2 200',
    'ICY 200 OK',
    '',
  ])
    assert.throws(() => read(whole(`${head}\r\n\r\nhello`)), { code: 'UK_NO_HTTP' }, head)
  for (const body of [
    '5\nhello\r\n0\r\n\r\n',
    'g\r\n',
    '5\r\nhello!\r\n',
    '-1\r\n',
    '\r\n',
    '5 5\r\nhello\r\n',
    'fffffffffffffff\r\n',
  ])
    assert.throws(
      () => read(whole(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`)),
      { code: 'UK_NO_HTTP' },
      body,
    )
})

test('a head without an end is abandoned, even byte by byte', () => {
  const line = `X-Long: ${'x'.repeat(1000)}\r\n`
  const endless = Array.from({ length: 80 }, () => Buffer.from(line))
  assert.throws(() => read([Buffer.from('HTTP/1.1 200 OK\r\n'), ...endless]), { code: 'UK_NO_HTTP' })
  assert.throws(
    () =>
      read([
        Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'),
        ...Array.from({ length: 5000 }, () => Buffer.from('1')),
      ]),
    { code: 'UK_NO_HTTP' },
  )
})

test('a truncated response is incomplete', () => {
  assert.equal(read(whole('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'), { closes: true }).ended, false)
  assert.equal(
    read(whole('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'), { closes: true }).ended,
    false,
  )
  assert.equal(read(whole('HTTP/1.1 200'), { closes: true }).ended, false)
})

test('a header named like an object property is an ordinary header', () => {
  const text = 'HTTP/1.1 200 OK\r\nconstructor: a\r\n__proto__: b\r\ncontent-length: 0\r\n\r\n'
  let answer: Record<string, unknown> = {}
  const parser = new AnswerParser({ head: (_, headers) => void (answer = headers), data() {}, end() {} })
  parser.expect('GET')
  parser.push(Buffer.from(text))
  assert.deepEqual(Object.entries(answer), [
    ['constructor', 'a'],
    ['__proto__', 'b'],
    ['content-length', '0'],
  ])
})
