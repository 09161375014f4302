import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, results, say, script } from '#test/chats/chats.ts'
import { type SentEvent, allEvents, readEvents } from '#test/events.ts'
import type { Caller, Person } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import { until } from '#test/until.ts'
import { bounded } from '../../messages/tool-calls.ts'

const { server, twin, alice, beyond } = await twoServers({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } })

async function chatWith(tools: object[], more: object = {}, who: Person = alice): Promise<string> {
  const agent = (await who.post('/agents', { name: 'Worker', model: 'sim/script', tools, ...more })).body.data.id
  return (await who.post('/chats', { agent_id: agent })).body.data.id
}
const send = (chat: string, content: string, who: Caller = alice) => who.post(`/chats/${chat}/messages`, { content })

test('an agent with tools reaches its goal: it writes a file, is judged, and the log replays everything', async () => {
  const chat = await chatWith([
    { name: 'drive.upload', policy: 'allow' },
    { name: 'find', policy: 'allow' },
    { name: 'do', policy: 'allow' },
  ])
  const name = 'report.txt'
  const achieved = JSON.stringify({ steps: [say(JSON.stringify({ achieved: true, feedback: 'The file is there.' }))] })
  const objective = script(
    [say('I look for the way. '), call('find', { query: 'create a file' })],
    [call('do', { name: 'drive.upload', input: { name, content: 'All is well.', workspace_id: alice.workspaceId } })],
    [say(achieved)],
  )
  const started = await alice.post(`/chats/${chat}/goal`, { objective, max_cost_usd: 1 })
  assert.equal(started.status, 201, started.text)
  let goal = started.body.data
  goal = await until(
    async () => (await alice.get(`/chats/${chat}/goal`)).body.data,
    ({ status }) => status !== 'active',
  )
  assert.deepEqual([goal.status, goal.turns_used], ['achieved', 1], JSON.stringify(goal))

  const files = (await alice.get(`/drive/files?workspace_id=${alice.workspaceId}`)).body.data
  assert.ok(
    files.some((file: { name: string }) => file.name === name),
    JSON.stringify(files),
  )

  const [run] = (await alice.get(`/chats/${chat}/runs`)).body.data
  const [, message] = (await alice.get(`/chats/${chat}/messages`)).body.data
  const log = await allEvents(beyond, `/chats/${chat}/runs/${run.id}/events`)
  assert.deepEqual(
    log.map(({ id }) => Number(id)),
    log.map((_, i) => i + 1),
  )
  assert.deepEqual(replayed(log), message.content)
  assert.equal(log.map(({ data }) => (data.index === undefined ? '' : data.delta)).join(''), message.text)
  assert.deepEqual(log.findLast(({ event }) => event === 'usage')!.data.cost_usd, message.cost_usd)
  // Each status appears in the events.
  assert.deepEqual(log.at(-1)!.data.run, (await beyond.get(`/chats/${chat}/runs/${run.id}`)).body.data)
  assert.deepEqual(
    log.flatMap(({ data }) => data.run?.status ?? []),
    ['running', 'completed'],
  )
  assert.deepEqual(log.at(-3)!.data.message, message)
  assert.deepEqual(log.at(-2)!.data.usage, message.usage)
  const { pool } = server.app.engine.postgres
  const { rows } = await pool.query(
    'select kind, name, status, idempotent from steps where run_id = $1 order by index',
    [run.id],
  )
  assert.deepEqual(
    rows.map(({ kind, name, status, idempotent }) => [kind, name, status, idempotent]),
    [
      ['model', 'sim/script', 'completed', true],
      ['tool', 'find', 'completed', true],
      ['model', 'sim/script', 'completed', true],
      ['tool', 'drive.upload', 'completed', false],
      ['model', 'sim/script', 'completed', true],
      ['evaluation', 'sim/script', 'completed', true],
    ],
  )
  await server.app.engine.ledger.flush()
  await twin.app.engine.ledger.flush()
  const { rows: paid } = await pool.query(
    `select sum(cost_nano)::int8 as nano from calls where run_id = $1 and surface = 'chat'`,
    [run.id],
  )
  assert.deepEqual([run.cost_usd, message.cost_usd], [Number(paid[0].nano) / 1e9, Number(paid[0].nano) / 1e9])
})

/** Rebuilds a message's content from its events. */
function replayed(log: readonly SentEvent[]): object[] {
  const parts: any[] = []
  const byIndex = new Map<number, any>()
  for (const { event, data } of log) {
    if (event === 'text.delta') {
      if (!byIndex.has(data.index)) parts.push(byIndex.set(data.index, { type: 'text', text: '' }).get(data.index))
      byIndex.get(data.index).text += data.delta
    }
    if (event === 'tool_call.completed')
      parts.push({ type: 'tool_call', id: data.tool_call_id, name: data.name, arguments: data.arguments })
    if (event === 'tool_result')
      parts.push({ type: 'tool_result', tool_call_id: data.tool_call_id, output: data.output, is_error: data.is_error })
  }
  return parts
}

test('denied, unknown and malformed calls return errors to the model, and the run continues', async () => {
  const chat = await chatWith([
    { name: 'do', policy: 'allow' },
    { name: 'chats.create', policy: 'deny' },
    { name: 'chats.list', policy: 'allow' },
  ])
  const response = await send(
    chat,
    script(
      [
        call('chats_create', {}),
        call('do', { name: 'chats.create', input: {} }),
        call('drive_list', {}),
        call('no_such_tool', {}),
        call('chats_list', '{"limit": '),
        call('chats_list', { limit: 'many' }),
        call('do', { name: 'api_keys.create', input: {} }),
        call('chats_list', { limit: 1 }),
      ],
      [say('so be it')],
    ),
  )
  assert.equal(response.status, 200, response.text)
  assert.deepEqual([response.body.data.text, response.body.data.run.status], ['so be it', 'completed'])
  const all = results(response.body.data)
  assert.deepEqual(
    all.map(({ is_error }) => is_error),
    [true, true, true, true, true, true, true, false],
  )
  assert.match(JSON.stringify(all[0]), /This agent can’t use/)
  assert.match(JSON.stringify(all[1]), /This agent can’t use/)
  assert.match(JSON.stringify(all[4]), /must be a JSON object/)
  assert.equal(all[5]!.output.error.param, 'limit')
  assert.equal(all[7]!.output.data.length, 1)
})

test('an agent reaches only the workspace of its chat, regardless of the prompt', async () => {
  const other = (await alice.post('/workspaces', { name: 'Secret' })).body.data.id
  const hidden = (await alice.post('/chats', { title: 'hidden', workspace_id: other })).body.data.id
  const chat = await chatWith([{ name: 'do', policy: 'allow' }])
  const answer = await send(
    chat,
    script(
      [
        call('do', { name: 'chats.get', input: { id: hidden } }),
        call('do', { name: 'chats.list', input: {} }),
        call('do', { name: 'chats.create', input: { workspace_id: other } }),
      ],
      [say('done')],
    ),
  )
  const [get, list, create] = results(answer.body.data)
  assert.deepEqual([get!.output.error.type, create!.output.error.type], ['not_found', 'not_found'])
  assert.ok(!JSON.stringify(list).includes(hidden) && JSON.stringify(list).includes(chat))
})

test('a looping agent stops at its turn limit, and a hanging tool is abandoned with its run', async () => {
  const circling = await chatWith([{ name: 'find', policy: 'allow' }], { max_turns: 2 })
  const turn = [call('find', { query: 'x' })]
  const refused = await send(circling, script(turn, turn, turn, turn))
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'limit_reached'])

  const waiting = await chatWith([
    { name: 'operations.await', policy: 'allow' },
    { name: 'chats.stream', policy: 'allow' },
  ])
  const other = (await alice.post('/chats', { model: 'sim/script' })).body.data.id
  const endless = JSON.stringify({ steps: [say('never'), { delay_ms: 60_000 }] })
  for await (const { event } of readEvents(alice, `/chats/${waiting}/messages/stream`, {
    body: { content: script([call('chats_stream', { id: other, content: endless })], [say('x')]) },
  }))
    if (event === 'tool_call.completed') break
  assert.equal((await alice.post(`/chats/${waiting}/stop`)).body.data.status, 'cancelled')
  await alice.post(`/chats/${other}/stop`)
})

test('an answer that doesn’t match the agent’s schema fails, names the mismatch, and can be retried', async () => {
  const output_schema = {
    type: 'object',
    properties: { count: { type: 'integer' }, item: { $ref: '#/$defs/item' } },
    required: ['count'],
    $defs: { item: { type: 'object', properties: { name: { type: 'string', pattern: '^(a+)+$' } } } },
  }
  const chat = await chatWith([{ name: 'find', policy: 'allow' }], { output_schema })
  const good = script([say('I look. '), call('find', { query: 'x' })], [say('{"count":2,"item":{"name":"aaa!"}}')])
  assert.equal((await send(chat, good)).status, 200)
  for (const [text, where] of [
    ['{"count":"two"}', /`count`/],
    ['{"count":1,"item":{"name":3}}', /`item\.name`/],
    ['Two of them.', /isn’t valid JSON/],
  ] as const) {
    const refused = await send(chat, script(say(text)))
    assert.deepEqual([refused.status, refused.body.error.code], [502, 'provider_error'], refused.text)
    assert.match(refused.body.error.message, where)
    const { run_id } = refused.body.error.details
    const run = (await alice.get(`/chats/${chat}/runs/${run_id}`)).body.data
    assert.deepEqual([run.status, run.cost_usd! > 0], ['failed', true])
    const { data } = (await alice.get(`/chats/${chat}/messages?order=desc&limit=1`)).body
    assert.deepEqual([data[0].status, data[0].text], ['failed', text])
    assert.equal((await beyond.post(`/chats/${chat}/runs/${run_id}/retry`)).status, 502)
  }
  // JSON answers pass if their schema can't be checked in bounded time.
  const itself = { type: 'object', properties: { a: { anyOf: [{ $ref: '#' }, { $ref: '#' }] } } }
  const other = await chatWith([], { output_schema: itself })
  const deep = '{"a":'.repeat(60) + '1' + '}'.repeat(60)
  assert.equal((await send(other, script(say(deep)))).status, 200)
})

test('a provider receives the tools and the answer schema, and each result with its call’s ID', async () => {
  await using vendor = await startOpenAI()
  const endpoint = await alice.post('/ai-gateway/provider-endpoints', {
    name: 'Vendor',
    slug: 'vendor',
    shape: 'openai-chat',
    base_url: `${vendor.origin}/v1`,
    api_key: vendor.key,
    models: [{ id: 'gpt-4o', pricing: { input: 1, output: 2 } }],
  })
  assert.equal(endpoint.status, 201, endpoint.text)
  vendor.script(
    { reply: { text: '', tools: [{ id: 'call_0', name: 'chats_list', arguments: { limit: 1 } }] } },
    { reply: { text: '', tools: [{ id: 'call_0', name: 'chats_list', arguments: { limit: 2 } }] } },
    { reply: '{"count":2}' },
  )
  const output_schema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] }
  const tools = [
    { name: 'chats.list', policy: 'allow' },
    { name: 'do', policy: 'deny' },
  ]
  await alice.post('/chats', {})
  const chat = await chatWith(tools, { model: 'vendor/gpt-4o', output_schema })
  const answer = await send(chat, 'How many chats?')
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.body.data.text, '{"count":2}')
  const requests = vendor.requests
    .filter(({ path }) => path.endsWith('/chat/completions'))
    .map((request) => request.json())
  assert.equal(requests.length, 3)
  for (const body of requests) {
    assert.deepEqual(
      body.tools.map((tool: any) => tool.function.name),
      ['chats_list'],
    )
    assert.deepEqual(body.response_format.json_schema.schema, output_schema)
  }
  const last = requests.at(-1)!.messages
  assert.deepEqual(
    last.map(({ role }: { role: string }) => role),
    ['user', 'assistant', 'tool', 'assistant', 'tool'],
  )
  assert.deepEqual([last[2].tool_call_id, JSON.parse(last[4].content).data.length], ['call_0', 2])
})

test('NULs and lone surrogates in calls are removed, including in field names, and the run continues', async () => {
  const chat = await chatWith([
    { name: 'do', policy: 'allow' },
    { name: 'web.fetch', policy: 'ask' },
  ])
  const odd = { 'na\0me': 'models\0.list\ud800', input: { 'limi\0t': 1 } }
  await send(chat, script([call('do', odd)], [call('web_fetch', { url: 'http://x/\0' })]))
  const [run] = await until(
    async () => (await alice.get(`/chats/${chat}/runs`)).body.data,
    ([{ status }]) => status !== 'queued' && status !== 'running',
  )
  assert.equal(run.status, 'requires_action', JSON.stringify(run.error))
  assert.deepEqual(run.pending_actions[0].arguments, { url: 'http://x/' })
  const { pool } = server.app.engine.postgres
  const { rows } = await pool.query(
    `select input->'arguments' as given from steps where run_id = $1 and kind = 'tool'`,
    [run.id],
  )
  assert.deepEqual(rows[0].given, { name: 'models.list\ufffd', input: { limit: 1 } })
  const cleaned = bounded({ output: { ['a\0']: ['b\0', { ['c\ud800']: '\ud83d\ude00' }] }, is_error: false })
  assert.deepEqual(cleaned.output, { a: ['b', { 'c\ufffd': '\ud83d\ude00' }] })
})
