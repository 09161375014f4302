import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { startAnthropic } from '#test/vendors/anthropic/anthropic.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import { PATIENCE_MS } from '#test/until.ts'

let server: TestServer
let alice: Person
before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
})
after(() => server[Symbol.asyncDispose]())

const say = (content: unknown, more: object = {}) => ({
  model: 'sim/echo',
  messages: [{ role: 'user', content }],
  ...more,
})
const play = (steps: unknown[], more: object = {}) => ({
  model: 'sim/script',
  messages: [{ role: 'user', content: JSON.stringify({ steps, ...more }) }],
})

interface SentEvent {
  id: string
  event: string
  // Tests look into events freely.
  data: any
}
const eventsIn = (text: string): SentEvent[] =>
  text
    .split('\n\n')
    .filter((block) => block.startsWith('id:'))
    .map((block) => {
      const [, id, event, data] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(block)!
      return { id: id!, event: event!, data: JSON.parse(data!) }
    })

test('sim/echo returns the last user text, the provider and the cost', async () => {
  const answer = await alice.post('/inference/text', say('hello dear world', { system: 'be brief' }))
  assert.equal(answer.status, 200)
  const { data } = answer.body
  assert.deepEqual(
    [data.text, data.model, data.provider, data.finish_reason, data.tool_calls],
    ['hello dear world', 'sim/echo', 'sim', 'stop', []],
  )
  assert.deepEqual(data.content, [{ type: 'text', text: 'hello dear world' }])
  assert.equal(data.usage.output_tokens, 3)
  assert.equal(data.cost_usd, (data.usage.input_tokens * 1 + 3 * 2) / 1e6)
  assert.match(answer.headers.get('x-uk-route')!, /^provider=sim; seed=\d+$/)
})

test('a stream sends the run, message, text, usage and end, numbered without gaps', async () => {
  const text = 'ein Gruß 👋🏽 an alle'
  const answer = await alice.post('/inference/text/stream', say(text))
  assert.match(answer.headers.get('content-type')!, /^text\/event-stream/)
  assert.match(answer.headers.get('x-uk-route')!, /^provider=sim; seed=\d+$/)
  const events = eventsIn(answer.text)
  const names = events.map(({ event }) => event)
  assert.deepEqual([names[0], names[1]], ['run.started', 'message.started'])
  assert.deepEqual(names.slice(-3), ['message.completed', 'usage', 'run.completed'])
  assert.deepEqual(
    events.map(({ data }) => data.seq),
    events.map((_, index) => index + 1),
  )
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map(({ data }) => String(data.seq)),
  )
  const { run } = events[0]!.data
  assert.ok(events.every(({ data }) => data.run_id === run.id && data.at.endsWith('Z')))
  const deltas = events.filter(({ event }) => event === 'text.delta')
  assert.equal(deltas.map(({ data }) => data.delta).join(''), text)
  assert.ok(
    deltas.length > 1 && deltas.every(({ data }) => data.index === 0 && data.message_id === events[1]!.data.message.id),
  )
  const { message } = events.at(-3)!.data
  assert.deepEqual([message.text, message.status, message.finish_reason], [text, 'completed', 'stop'])
  assert.deepEqual(
    [events.at(-1)!.data.run.status, events.at(-1)!.data.run.cost_usd],
    ['completed', events.at(-2)!.data.cost_usd],
  )
})

test('reasoning, text and tool calls have their own events and parts', async () => {
  const script = play([
    { reasoning: 'let me see' },
    { text: 'I ask' },
    { tool_call: { name: 'look', arguments: { at: 'sky' } } },
  ])
  const tools = [{ name: 'look', parameters: { type: 'object' } }]
  const events = eventsIn((await alice.post('/inference/text/stream', { ...script, tools })).text)
  const started = events.find(({ event }) => event === 'tool_call.started')!
  const completed = events.find(({ event }) => event === 'tool_call.completed')!
  assert.equal(completed.data.tool_call_id, started.data.tool_call_id)
  assert.deepEqual([completed.data.name, JSON.parse(completed.data.arguments)], ['look', { at: 'sky' }])
  const pieces = events.filter(({ event }) => event === 'tool_call.delta').map(({ data }) => data.delta)
  assert.equal(pieces.join(''), completed.data.arguments)
  const { message } = events.findLast(({ event }) => event === 'message.completed')!.data
  assert.deepEqual(
    message.content.map(({ type }: { type: string }) => type),
    ['reasoning', 'text', 'tool_call'],
  )
  assert.equal(message.finish_reason, 'tool_calls')
})

test('a tool result sent back with the response continues the conversation', async () => {
  const turns = [[{ tool_call: { name: 'add', arguments: { a: 1 } } }], [{ text: 'it is done' }]]
  const messages: unknown[] = [{ role: 'user', content: JSON.stringify({ turns }) }]
  const tools = [{ name: 'add' }]
  const first = (await alice.post('/inference/text', { model: 'sim/script', messages, tools })).body.data
  assert.equal(first.finish_reason, 'tool_calls')
  for (const back of [
    [
      { role: 'assistant', content: first.content },
      { role: 'tool', content: [{ type: 'tool_result', tool_call_id: first.tool_calls[0].id, output: { sum: 1 } }] },
    ],
    [
      { role: 'assistant', content: first.text, tool_calls: first.tool_calls },
      { role: 'tool', tool_call_id: first.tool_calls[0].id, content: '1' },
    ],
  ]) {
    const second = await alice.post('/inference/text', { model: 'sim/script', messages: [...messages, ...back], tools })
    assert.equal(second.body.data?.text, 'it is done', second.text)
  }
})

test('an error before the first chunk has its status, and a later one ends the stream as run.failed', async () => {
  const early = await alice.post(
    '/inference/text',
    play([{ error: { type: 'rate_limit_error', message: 'slow down', status: 429 } }]),
  )
  assert.deepEqual([early.status, early.body.error.code ?? early.body.error.type], [429, 'rate_limited'])
  const earlyStream = await alice.post(
    '/inference/text/stream',
    play([{ error: { type: 'overloaded_error', message: 'busy', status: 529 } }]),
  )
  assert.equal(earlyStream.status, 503)
  const broken = play([{ text: 'half of' }, { error: { type: 'api_error', message: 'it broke', status: 500 } }])
  assert.equal((await alice.post('/inference/text', broken)).body.error.code, 'provider_error')
  const events = eventsIn((await alice.post('/inference/text/stream', broken)).text)
  assert.deepEqual(
    events.slice(-2).map(({ event }) => event),
    ['usage', 'run.failed'],
  )
  assert.deepEqual([events.at(-1)!.data.error.code, events.at(-1)!.data.run.status], ['provider_error', 'failed'])
})

test('invalid requests are rejected with the reason before anything is spent', async () => {
  const wrong = async (body: object) => {
    const { status, body: answer } = await alice.post('/inference/text', body)
    return [status, answer.error.code ?? answer.error.type, answer.error.param]
  }
  assert.deepEqual(await wrong(say('x', { model: 'no/such' })), [404, 'not_found', 'model'])
  assert.deepEqual(await wrong(say('x', { stream: true })), [400, 'unknown_parameter', 'stream'])
  assert.deepEqual(await wrong({ model: 'sim/echo', messages: [] }), [400, 'invalid_parameter', 'messages'])
  assert.deepEqual(await wrong({ model: 'sim/echo', messages: [{ role: 'tool', content: 'x' }] }), [
    400,
    'invalid_parameter',
    'messages.0.tool_call_id',
  ])
  assert.deepEqual(await wrong(say('x', { background: true, model: 'no/such' })), [404, 'not_found', 'model'])
  const long = await wrong(say('word '.repeat(1_000_001)))
  assert.deepEqual(long.slice(0, 2), [400, 'context_length_exceeded'])
})

test('a background call is an operation with the response as its result', async () => {
  const started = await alice.post('/inference/text', say('later', { background: true }))
  assert.equal(started.status, 202)
  let { data } = started.body
  for (let i = 0; i < 5 && !['succeeded', 'failed'].includes(data.status); i++)
    data = (await alice.get(`/operations/${data.id}/await?since_status=${data.status}&timeout_seconds=20`)).body.data
  assert.equal(data.status, 'succeeded', JSON.stringify(data))
  assert.deepEqual([data.kind, data.result.text, data.cost_usd], ['inference.text', 'later', data.result.cost_usd])
  assert.equal((await alice.get(`/operations/${data.id}/content`)).text, 'later')
})

test('a caller that disconnects from a stream pays only for what was generated', async () => {
  const bob = await server.person('Bob Leaves')
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 5, note: 'start' })
  const leave = new AbortController()
  const response = await fetch(`${server.origin}/v1/inference/text/stream`, {
    method: 'POST',
    headers: { ...bob.headers, 'content-type': 'application/json' },
    body: JSON.stringify(play([{ text: 'one two three' }, { delay_ms: 60_000 }, { text: 'four five six' }])),
    signal: leave.signal,
  })
  const reader = response.body!.getReader()
  let seen = ''
  while (!seen.includes('three')) seen += Buffer.from((await reader.read()).value).toString()
  leave.abort()
  const { pool } = server.app.engine.postgres
  const call = async () => {
    await server.app.engine.ledger.flush()
    return (await pool.query('select status, output_tokens from calls where account_id = $1', [bob.id])).rows[0]
  }
  let row = await call()
  for (const until = Date.now() + PATIENCE_MS; row === undefined && Date.now() < until; row = await call())
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual([row.status, Number(row.output_tokens)], ['cancelled', 3])
})

test('a standard account without credits gets 402, and granted credits are charged the exact cost', async () => {
  const bob = await server.person('Bob')
  const refused = await bob.post('/inference/text', say('hello'))
  assert.deepEqual([refused.status, refused.body.error.code], [402, 'insufficient_credits'])
  assert.equal((await bob.post('/inference/text/stream', say('hello'))).status, 402)
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 1, note: 'a gift' })
  const { data } = (await bob.post('/inference/text', say('hello there', { max_output_tokens: 100 }))).body
  const { engine } = server.app
  await engine.ledger.flush()
  const { rows } = await engine.postgres.pool.query('select nano from balances where account_id = $1', [bob.id])
  const cost = BigInt(data.usage.input_tokens) * 1_000n + BigInt(data.usage.output_tokens) * 2_000n
  assert.equal(data.usage.output_tokens, 2)
  assert.equal(rows[0].nano, 1_000_000_000n - cost)
  assert.equal(data.cost_usd, Number(cost) / 1e9)
})

test('a key without inference:run is rejected, and a capped key stops at its cap', async () => {
  const narrow = await alice.key({ scopes: ['model:read'] })
  assert.equal((await narrow.post('/inference/text', say('x'))).body.error.details.required_scope, 'inference:run')
  const capped = await alice.key({ spend_cap_usd: 0.000001 })
  assert.equal(
    (await capped.post('/inference/text', say('one two three four five'))).body.error.code,
    'spend_cap_reached',
  )
})

test('parts, tools and the response format are sent in the provider’s own format', async () => {
  await using vendor = await startOpenAI()
  const made = await alice.post('/ai-gateway/provider-endpoints', {
    name: 'Eyes',
    slug: 'eyes',
    shape: 'openai-chat',
    base_url: `${vendor.origin}/v1`,
    api_key: vendor.key,
    instance: true,
  })
  assert.equal(made.status, 201, made.text)
  const data = Buffer.from('not really a picture').toString('base64')
  const schema = {
    type: 'object',
    properties: { seen: { type: 'string' } },
    required: ['seen'],
    additionalProperties: false,
  }
  const answer = await alice.post('/inference/text', {
    model: 'eyes/gpt-4o',
    system: 'look closely',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is this?' },
          { type: 'image', source: { kind: 'base64', media_type: 'image/png', data } },
        ],
      },
    ],
    temperature: 0.5,
    max_output_tokens: 99,
    tools: [{ name: 'zoom', description: 'closer', parameters: { type: 'object', properties: {} } }],
    tool_choice: 'auto',
    response_format: { type: 'json_schema', name: 'seen', schema },
  })
  assert.equal(answer.status, 200, answer.text)
  const sent = vendor.requests.findLast(({ method }) => method === 'POST')!.json()
  assert.deepEqual([sent.messages[0].role, sent.temperature, sent.tools[0].function.name], ['system', 0.5, 'zoom'])
  assert.equal(sent.messages[1].content[1].image_url.url, `data:image/png;base64,${data}`)
  assert.deepEqual(sent.response_format.json_schema.schema, schema)
  assert.ok([sent.max_tokens, sent.max_completion_tokens].includes(99))
})

test('reasoning is sent back unchanged, its signature byte for byte', async () => {
  await using vendor = await startAnthropic()
  const made = await alice.post('/ai-gateway/provider-endpoints', {
    name: 'Thinker',
    slug: 'thinker',
    shape: 'anthropic-messages',
    base_url: vendor.origin,
    api_key: vendor.key,
    instance: true,
  })
  assert.equal(made.status, 201, made.text)
  const thought = { type: 'reasoning', text: 'hm', opaque: { signature: 'c2lnbmVk', format: 'anthropic-claude-v1' } }
  const ask = (reasoning: object) =>
    alice.post('/inference/text', {
      model: 'thinker/claude-sonnet-5-5',
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [reasoning, { type: 'text', text: 'b' }] },
        { role: 'user', content: 'c' },
      ],
    })
  const answer = await ask(thought)
  assert.equal(answer.status, 200, answer.text)
  const sent = vendor.requests.findLast(({ method }) => method === 'POST')!.json()
  assert.deepEqual(sent.messages[1].content[0], { type: 'thinking', thinking: 'hm', signature: 'c2lnbmVk' })

  // A fault deep in one of several forms is named where it is.
  const wrong = await ask({ ...thought, opaque: { signature: 5 } })
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'messages.1.content.0.opaque.signature'])
  const neither = await alice.post('/inference/text', { model: 'sim/echo', messages: [{ role: 'user', content: 5 }] })
  assert.equal(neither.body.error.param, 'messages.0.content')
  assert.match(neither.body.error.message, /must be a string or a list, not a number/)
})
