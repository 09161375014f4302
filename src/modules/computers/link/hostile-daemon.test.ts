/** Daemons are untrusted. This one sends every kind of wrong reply. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Outcome, asksOf } from '#test/link/asks.ts'
import { linkUp, pairedBy } from '#test/link/daemon.ts'
import { type Lies, liarAt } from '#test/link/liar.ts'
import { twoServers } from '#test/two-servers.ts'
import { until } from '#test/until.ts'
import { type OperationName, operations } from '#daemon-protocol/operations.ts'

const { server, twin, alice, beyond } = await twoServers()
const names = Object.keys(operations) as OperationName[]

const { asks, attached, inTheEnd, terminal, upload } = asksOf({ server, twin, alice, beyond })

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
const refusals: Record<string, string | object> = {
  'details that lie deep in each other': `{"code":"not_found","details":{"a":${nested(20)}}}`,
  'details that are a list': { code: 'not_found', details: [1] },
  'details without end': { code: 'invalid_state', details: { long: 'x'.repeat(50_000) } },
  'details of a prototype': '{"code":"not_found","details":{"__proto__":{"x":1},"constructor":"x"}}',
  'U+0000 everywhere': { code: 'not_found', message: 'a\0b', param: 'c\0d', details: { 'e\0': 'f\0g', list: ['h\0'] } },
  'halves of surrogate pairs': { code: 'not_found', message: 'a\ud800b', param: '\udc00', details: { a: '\ud800' } },
  'a code that signs out': { code: 'session_expired', message: 'Sign in again.' },
  'a code that asks for money': { code: 'insufficient_credits' },
  'a code that the server says of itself': { code: 'computer_offline' },
  'a code that there is not': { code: 'made_up', message: 'Something new.' },
  'a message without end': { code: 'not_found', message: 'x'.repeat(60_000) },
  'wrong types': { code: 5, message: { a: 1 }, param: ['x'], details: 'x' },
  nothing: {},
}

const away = new Set(['401', '402', '403', '409 computer_offline'])
/** Asserts a well-formed refusal with no codes reserved for the server. */
function assertClear({ status, error }: Outcome, what: string): void {
  assert.ok(status >= 400, `${what}: ${status}`)
  assert.ok(!away.has(String(status)) && !away.has(`${status} ${error?.code}`), `${what}: ${status} ${error?.code}`)
  if (error === undefined) return
  assert.ok(typeof error.message === 'string' && error.message.length <= 1_000, `${what}: ${error.message}`)
  const text = JSON.stringify(error)
  assert.doesNotMatch(text, /\\u0000|\\ud[89a-f]/i, what)
  assert.ok(text.length < 8_000, what)
}

test('any refusal from a daemon reaches the caller as a clear error, in either process', async () => {
  const { id, credential } = await pairedBy(alice)
  let refusal = ''
  using _liar = await liarAt(server.origin, credential, (_asked, says) => says.end(`{"error":${refusal}}`))
  for (const [how, body] of Object.entries(refusals)) {
    refusal = typeof body === 'string' ? body : JSON.stringify(body)
    for (const caller of [alice, beyond])
      await Promise.all(names.map(async (op) => assertClear(await asks[op](id, caller), `${op}: ${how}`)))
  }
})

test('invalid replies from a daemon become clear errors', async () => {
  const { id, credential } = await pairedBy(alice)
  let output = ''
  using _liar = await liarAt(server.origin, credential, (_asked, says) => says.end(`{"output":${output}}`))
  for (output of ['null', '5', '"x"', '[]', '{}', `{"entries":5,"terminals":{},"offset":"x","models":${nested(20)}}`])
    await Promise.all(
      names.map(async (op) => {
        const { status, error } = await asks[op](id, alice)
        // Operations without output ignore it.
        const fine = operations[op].output.safeParse(JSON.parse(output)).success
        if (!fine) assertClear({ status, error: error! }, `${op}: ${output}`)
      }),
    )
})

const events: unknown[] = [
  {},
  { type: 5 },
  { type: null, stdin: null },
  ...['3', -1, 1.5, 1e300, null, [], {}, true].flatMap((wrong) => [
    { type: 'started', pid: wrong, stdin: wrong },
    { type: 'snapshot', at: wrong, bytes: wrong },
    { type: 'gap', from: wrong, to: wrong },
    { type: 'resize', cols: wrong, rows: wrong },
    { type: 'ended', exit_code: wrong, signal: wrong },
    { type: 'typed', viewer: wrong, seq: wrong },
    { type: 'head', entry: wrong, etag: wrong, length: wrong, status: wrong, content_type: wrong },
    { type: 'offset', offset: wrong },
    { type: 'progress', phase: wrong, completed: wrong, total: wrong },
    { type: 'connected', wrong },
  ]),
  `{"type":"ended","x":${nested(20)}}`,
  { type: 'started', pid: 1, stdin: 0 },
  { type: 'offset', offset: 1e15 },
  { type: 'head', status: 200, content_type: 'a\r\nset-cookie: b\0' },
  { type: 'snapshot', at: 0, bytes: 1e15 },
]

test('invalid events from a daemon don’t affect other callers', async () => {
  const { id, credential } = await pairedBy(alice)
  const lies: Lies = (_asked, says) => {
    for (const event of events) says.event(event)
    says.bytes(Buffer.from('x'), 7, 5)
    says.bytes(Buffer.from('x'), 2 ** 50, 3)
    says.finish()
    says.end({ error: { code: 'not_found' } })
  }
  using _liar = await liarAt(server.origin, credential, lies)
  for (const caller of [alice, beyond])
    await Promise.all(
      names.map(async (op) => {
        const { status } = await asks[op](id, caller)
        // Files and pages may have started with a plausible head.
        assert.ok(status >= 400, `${op}: ${status}`)
      }),
    )
})

test('an excessively nested reply closes the link', async () => {
  const deep: Lies[] = [
    (_, says) => says.end(`{"error":{"code":"not_found","details":{"a":${nested(30_000)}}}}`),
    (_, says) => says.end(`{"output":${nested(30_000)}}`),
    (_, says) => says.event(`{"type":${nested(30_000)}}`),
  ]
  for (const lies of deep) {
    const { id, credential } = await pairedBy(alice)
    // The server asks for models on connect. A lie there would end the link too early.
    using liar = await liarAt(server.origin, credential, (request, says) =>
      request.op === 'fs.remove' ? lies(request, says) : says.end({ error: { code: 'not_found' } }),
    )
    const response = alice.post(`/computers/${id}/fs`, { op: 'remove', path: '/x' })
    assert.equal(await liar.closed, 4002)
    assert.deepEqual([(await response).status, (await response).body.error.code], [503, 'interrupted'])
  }
})

test('acknowledging bytes that weren’t sent fails only that upload', async () => {
  const { id, credential } = await pairedBy(alice)
  using _liar = await liarAt(server.origin, credential, ({ op }, says) => {
    if (op !== 'fs.write') return says.end({ error: { code: 'not_found' } })
    says.event({ type: 'offset', offset: 10 ** 9 })
    for (let i = 0; i < 50; i++) says.credit(10_000)
    says.event({ type: 'offset', offset: 10 ** 12 })
    says.end({ error: { code: 'storage_full' } })
  })
  assert.equal((await upload(id, alice, 900_000)).error?.type, 'storage_full')
})

test('stdin is sent once, from a valid offset', async () => {
  const { id, credential } = await pairedBy(alice)
  for (const stdin of ['3', -1, 1.5, 1e300, 2 ** 53 - 1, { valueOf: 3 }]) {
    using _liar = await liarAt(server.origin, credential, ({ op }, says) => {
      if (op !== 'exec') return says.end({ error: { code: 'not_found' } })
      for (let i = 0; i < 3; i++) says.event({ type: 'started', pid: 1, stdin })
      for (let i = 0; i < 30; i++) says.credit(50_000)
      setTimeout(() => says.end({ error: { code: 'storage_full' } }), 20)
    })
    const ran = await alice.post(`/computers/${id}/exec`, { command: 'cat', stdin: 'x'.repeat(1_000_000) })
    assert.equal(ran.body.error.type, 'storage_full', ran.text)
  }
})

test('a terminal that sends endlessly is stopped, for reads and viewers', async () => {
  const { id, credential } = await pairedBy(alice)
  let sentBytes = 0
  let channel: 0 | 3 = 0
  using _linked = await linkUp(server.origin, credential, async ({ op }, stream) => {
    if (op === 'terminal.attach') stream.event({ type: 'snapshot', at: 0, bytes: 1e15 })
    else if (op !== 'terminal.read') return {}
    for (;;) {
      await stream.write(Buffer.alloc(65_536), channel)
      sentBytes += 65_536
      // Yields to the event loop, so that the stop is seen.
      await new Promise(setImmediate)
    }
  })
  for (const one of [0, 3] as const) {
    channel = one
    sentBytes = 0
    const { status, error } = await terminal({ action: 'read', max_bytes: 100_000 })(id, alice)
    assert.deepEqual([status, error?.code ?? error?.type], [502, 'upstream_error'])
    assert.ok(sentBytes < 40_000_000, `${sentBytes} bytes on channel ${channel}`)
  }
  sentBytes = 0
  assert.equal((await attached(id, server.origin)).status, 500)
  assert.ok(sentBytes < 40_000_000, `${sentBytes} bytes`)
})

test('a refused command ends its operation once', async () => {
  const { id, credential } = await pairedBy(alice)
  let calls = 0
  using _liar = await liarAt(server.origin, credential, ({ op }, says) => {
    if (op === 'exec') calls++
    says.end({ error: { code: 'invalid_state', message: 'a\0b\ud800', details: { 'c\0': '\ud800' } } })
  })
  const response = await alice.post(`/computers/${id}/exec`, { command: 'true', background: true })
  const { status, error } = await inTheEnd(response.body.data.id)
  assert.deepEqual([status, error?.code, calls], [500, 'invalid_state', 1])
})

test('a model with invalid fields doesn’t hide the others', async () => {
  const { id, credential } = await pairedBy(alice)
  const model = {
    engine: 'llama',
    size_bytes: 1,
    digest: null,
    context_length: 2_048,
    quantization: null,
    status: 'ready',
    loaded: false,
    embeds: false,
  }
  const odd = [1.5, null, -1, 2 ** 53, 'x'].map((context_length, i) => ({ ...model, name: `odd-${i}`, context_length }))
  const models = [
    { ...model, name: 'first' },
    ...odd,
    { ...model, name: 'x'.repeat(300) },
    5,
    { ...model, name: 'last' },
  ]
  using _liar = await liarAt(server.origin, credential, ({ op }, says) =>
    says.end(op === 'engine.models' ? { output: { models } } : { error: { code: 'not_found' } }),
  )
  const { body } = await until(
    () => alice.get(`/computers/${id}/local-inference/models`),
    (answer) => answer.body.data.length > 0,
  )
  assert.deepEqual(body.data.map(({ name }: { name: string }) => name).toSorted(), ['first', 'last', 'odd-1'])
})
