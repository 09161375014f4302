import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#core/ids.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { PATIENCE_MS } from '#test/until.ts'

let server: TestServer
let alice: Person
let bob: Person
let carol: Person
before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  carol = await server.person('Carol')
})
after(() => server[Symbol.asyncDispose]())

const createChat = async (who: Caller, body: object = { model: 'sim/echo' }): Promise<string> => {
  const answer = await who.post('/chats', body)
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data.id
}
const say = async (who: Caller, chat: string, content: unknown, more: object = {}) => {
  const answer = await who.post(`/chats/${chat}/messages`, { content, ...more })
  assert.equal(answer.status, 200, answer.text)
  return answer.body.data
}
const texts = async (who: Caller, chat: string, query = ''): Promise<string[]> => {
  const answer = await who.get(`/chats/${chat}/messages${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body.data.map((message: { role: string; text: string }) => `${message.role}: ${message.text}`)
}

test('a message gets an answer, and the chat is titled after it until a user renames it', async () => {
  const chat = await createChat(alice)
  const answer = await say(alice, chat, 'How far is\nthe moon?')
  assert.deepEqual(
    [answer.role, answer.status, answer.text, answer.model, answer.provider, answer.finish_reason],
    ['assistant', 'completed', 'How far is\nthe moon?', 'sim/echo', 'sim', 'stop'],
  )
  assert.deepEqual(answer.content, [{ type: 'text', text: 'How far is\nthe moon?' }])
  assert.deepEqual([answer.run.status, answer.run.output_message_id, answer.run.attempt], ['completed', answer.id, 1])
  const chatRow = (await alice.get(`/chats/${chat}`)).body.data
  assert.deepEqual(
    [chatRow.title, chatRow.title_source, chatRow.head_message_id, chatRow.message_count, chatRow.active_run_id],
    ['How far is', 'auto', answer.id, 2, null],
  )
  await alice.patch(`/chats/${chat}`, { title: 'Space' })
  await say(alice, chat, 'And back?')
  const renamedChat = (await alice.get(`/chats/${chat}`)).body.data
  assert.deepEqual([renamedChat.title, renamedChat.title_source], ['Space', 'user'])
  assert.deepEqual(await texts(alice, chat), [
    'user: How far is\nthe moon?',
    'assistant: How far is\nthe moon?',
    'user: And back?',
    'assistant: And back?',
  ])
})

test('other users’ chats, runs and messages return 404', async () => {
  const chat = await createChat(alice)
  const { id: message, run } = await say(alice, chat, 'mine')
  for (const [method, path, body] of [
    ['GET', ''],
    ['GET', '/messages'],
    ['POST', '/messages', { content: 'x' }],
    ['POST', '/messages/stream', { content: 'x' }],
    ['GET', '/runs'],
    ['GET', `/runs/${run.id}`],
    ['GET', `/runs/${run.id}/events`],
    ['POST', `/runs/${run.id}/retry`, {}],
    ['POST', '/stop', {}],
    ['GET', '/cost'],
    ['GET', '/message-costs'],
    ['DELETE', ''],
  ] as const)
    assert.equal((await carol.request(method, `/chats/${chat}${path}`, body)).status, 404, `${method} ${path}`)
  const other = await createChat(alice)
  const ownChat = await createChat(carol)
  for (const [who, id, path, body, param] of [
    [alice, other, `/runs/${run.id}`, undefined, 'run_id'],
    [alice, other, `/runs/${run.id}/events`, undefined, 'run_id'],
    [alice, other, `/runs/${run.id}/retry`, {}, 'run_id'],
    [alice, other, '/stop', { run_id: run.id }, 'run_id'],
    [alice, other, '/messages', { content: 'x', parent_id: message }, 'parent_id'],
    [carol, ownChat, '/messages', { content: 'x', parent_id: message }, 'parent_id'],
    [carol, ownChat, '/messages', { content: 'x', parent_id: newId() }, 'parent_id'],
  ] as const) {
    const answer = await who.request(body ? 'POST' : 'GET', `/chats/${id}${path}`, body)
    assert.deepEqual([answer.status, answer.body.error.param], [404, param], path)
  }
  const head = await carol.patch(`/chats/${ownChat}`, { head_message_id: message })
  assert.deepEqual([head.status, head.body.error.param], [404, 'head_message_id'])
  assert.deepEqual(
    (await carol.get('/chats')).body.data.map((row: { id: string }) => row.id),
    [ownChat],
  )
})

test('content needs at least one part of a known type', async () => {
  const chat = await createChat(alice)
  for (const content of [
    '',
    '  \n',
    [],
    [{ type: 'text', text: ' ' }],
    [{ type: 'song' }],
    [{ type: 'text', text: 'x', loud: true }],
    7,
  ]) {
    const answer = await alice.post(`/chats/${chat}/messages`, { content })
    assert.deepEqual([answer.status, answer.body.error.type], [400, 'invalid_request'], JSON.stringify(content))
  }
  const parts = [
    { type: 'text', text: 'Look: ' },
    { type: 'image', source: { kind: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
    { type: 'text', text: 'a dot' },
  ]
  await say(alice, chat, parts)
  const [message] = (await alice.get(`/chats/${chat}/messages`)).body.data
  assert.deepEqual([message.content, message.text], [parts, 'Look: a dot'])
})

test('another parent starts a branch, the newest is active, and pages continue without gaps', async () => {
  const chat = await createChat(alice)
  const one = await say(alice, chat, 'one')
  const two = await say(alice, chat, 'two')
  await say(alice, chat, 'three')
  const edited = await say(alice, chat, 'two, edited', { parent_id: one.id })
  assert.deepEqual(await texts(alice, chat), [
    'user: one',
    'assistant: one',
    'user: two, edited',
    'assistant: two, edited',
  ])
  await say(alice, chat, 'four')
  assert.deepEqual(await texts(alice, chat, '?branch=all&order=desc&limit=3'), [
    'assistant: four',
    'user: four',
    'assistant: two, edited',
  ])
  assert.equal((await texts(alice, chat, '?branch=all')).length, 10)

  for (const order of ['asc', 'desc']) {
    const pages: string[] = []
    let cursor = ''
    do {
      const page = await alice.get(`/chats/${chat}/messages?order=${order}&limit=2${cursor && `&cursor=${cursor}`}`)
      pages.push(...page.body.data.map((message: { text: string }) => message.text))
      cursor = page.body.pagination.next_cursor ?? ''
    } while (cursor !== '')
    const path = ['one', 'one', 'two, edited', 'two, edited', 'four', 'four']
    assert.deepEqual(pages, order === 'asc' ? path : path.toReversed())
  }
  const first = await alice.get(`/chats/${chat}/messages?limit=2`)
  const back = await alice.patch(`/chats/${chat}`, { head_message_id: two.id })
  assert.equal(back.body.data.head_message_id, two.id)
  assert.deepEqual(await texts(alice, chat), ['user: one', 'assistant: one', 'user: two', 'assistant: two'])
  const next = await alice.get(`/chats/${chat}/messages?limit=2&cursor=${first.body.pagination.next_cursor}`)
  assert.equal(next.body.data[0].text, 'two, edited')

  const anew = await say(alice, chat, 'from nothing', { parent_id: null })
  assert.deepEqual(await texts(alice, chat), ['user: from nothing', 'assistant: from nothing'])
  // Ten words on the edited path, then six plus the two of the new message: the model sees only this path.
  assert.equal(anew.usage.input_tokens, 2)
  assert.equal((await say(alice, chat, 'x', { parent_id: edited.id })).usage.input_tokens, 7)
})

test('a forged cursor reaches no other chat, and invalid ones are rejected', async () => {
  const theirs = await say(alice, await createChat(alice), 'not yours')
  await alice.post(`/admin/accounts/${carol.id}/credits`, { amount_usd: 1 })
  const chat = await createChat(carol)
  await say(carol, chat, 'mine')
  const first = await carol.get(`/chats/${chat}/messages?limit=1`)
  const [list, head, depth] = JSON.parse(Buffer.from(first.body.pagination.next_cursor, 'base64url').toString())
  const forgeCursor = (...position: unknown[]): string =>
    Buffer.from(JSON.stringify([list, ...position])).toString('base64url')
  assert.equal((await carol.get(`/chats/${chat}/messages?cursor=${forgeCursor(head, depth)}`)).status, 200)
  for (const position of [[theirs.id, -1], [head, 'x'], [head, 1.5], [head, 2 ** 31], [head]]) {
    const answer = await carol.get(`/chats/${chat}/messages?cursor=${forgeCursor(...position)}`)
    assert.deepEqual([answer.status, answer.body.error?.code], [400, 'invalid_cursor'], JSON.stringify(position))
  }
})

test('the model comes from the message, chat, agent, settings, or the usable models, in this order', async () => {
  const agent = (
    await alice.post('/agents', { name: 'Brief', model: 'sim/echo', system_prompt: 'Answer in five words' })
  ).body.data.id
  const script = JSON.stringify({ steps: [{ text: 'played' }] })
  const withAgent = await createChat(alice, { agent_id: agent })
  const answer = await say(alice, withAgent, 'x')
  assert.deepEqual([answer.model, answer.usage.input_tokens], ['sim/echo', 5])
  assert.equal((await say(alice, withAgent, script, { model: 'sim/script' })).text, 'played')
  await alice.patch(`/chats/${withAgent}`, { model: 'sim/script' })
  assert.equal((await say(alice, withAgent, script)).text, 'played')

  const bare = await createChat(alice, {})
  assert.equal((await say(alice, bare, 'anything')).model, 'sim/echo')
  await alice.patch('/settings', { default_model: 'sim/script' })
  assert.equal((await say(alice, bare, script)).model, 'sim/script')
  await alice.patch('/settings', { default_model: null })

  const unknown = await alice.post(`/chats/${bare}/messages`, { content: 'x', model: 'nobody/nothing' })
  assert.deepEqual([unknown.status, unknown.body.error.param], [404, 'model'])
  const foreign = await carol.post('/chats', { agent_id: agent })
  assert.deepEqual([foreign.status, foreign.body.error.param], [404, 'agent_id'])
  await alice.delete(`/agents/${agent}`)
  const orphan = await alice.post(`/chats/${withAgent}/messages`, { content: 'x' })
  assert.deepEqual([orphan.status, orphan.body.error.code], [409, 'invalid_state'])
})

test('archived and trashed chats reject messages, and deleting a chat leaves nothing behind', async () => {
  const chat = await createChat(alice)
  const { run } = await say(alice, chat, 'keep this')
  assert.equal((await alice.post(`/chats/${chat}/archive`)).body.data.status, 'archived')
  const archived = await alice.post(`/chats/${chat}/messages`, { content: 'x' })
  assert.deepEqual(
    [archived.status, archived.body.error.code, archived.body.error.details.status],
    [409, 'invalid_state', 'archived'],
  )
  assert.equal((await alice.post(`/chats/${chat}/unarchive`)).body.data.status, 'active')
  assert.equal((await alice.delete(`/chats/${chat}`)).body.id, chat)
  for (const [path, body] of [
    ['/messages', { content: 'x' }],
    ['/messages/stream', { content: 'x' }],
    [`/runs/${run.id}/retry`, {}],
  ] as const) {
    const trashed = await alice.post(`/chats/${chat}${path}`, body)
    assert.deepEqual([trashed.status, trashed.body.error.code], [409, 'invalid_state'])
  }
  assert.equal((await texts(alice, chat)).length, 2)
  assert.deepEqual(
    (await alice.get('/chats?status=trashed')).body.data.map((row: { id: string }) => row.id),
    [chat],
  )
  assert.equal((await alice.post(`/chats/${chat}/restore`)).body.data.status, 'active')
  await say(alice, chat, 'again')
  await alice.delete(`/chats/${chat}`)
  assert.equal((await alice.delete(`/chats/${chat}/permanent-delete`)).status, 200)
  assert.equal((await alice.get(`/chats/${chat}`)).status, 404)
  const { pool } = server.app.engine.postgres
  for (const table of ['messages', 'runs'])
    assert.equal((await pool.query(`select 1 from ${table} where chat_id = $1`, [chat])).rowCount, 0, table)
  for (const table of ['run_events', 'steps'])
    assert.equal((await pool.query(`select 1 from ${table} where run_id = $1`, [run.id])).rowCount, 0, table)
})

test('a run its sender can’t pay for fails, and can be retried after a top-up', async () => {
  const chat = await createChat(bob)
  const refused = await bob.post(`/chats/${chat}/messages`, { content: 'two words' })
  assert.deepEqual([refused.status, refused.body.error.code], [402, 'insufficient_credits'])
  const runId = refused.body.error.details.run_id
  const failed = (await bob.get(`/chats/${chat}/runs/${runId}`)).body.data
  assert.deepEqual([failed.status, failed.error.code, failed.cost_usd], ['failed', 'insufficient_credits', null])

  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 1 })
  const again = await bob.post(`/chats/${chat}/runs/${runId}/retry`)
  assert.equal(again.status, 200, again.text)
  const { run, ...answer } = again.body.data
  assert.deepEqual([run.id, run.status, run.attempt, run.error], [runId, 'completed', 2, null])
  assert.deepEqual([answer.text, answer.parent_id, answer.cost_usd], ['two words', run.input_message_id, 0.000006])
  assert.equal((await bob.post(`/chats/${chat}/runs/${runId}/retry`)).status, 409)
  // The failed answer stays as a sibling of the new one.
  assert.deepEqual(await texts(bob, chat), ['user: two words', 'assistant: two words'])
  assert.deepEqual(
    (await bob.get(`/chats/${chat}/messages?branch=all`)).body.data.map(
      (message: { status: string }) => message.status,
    ),
    ['completed', 'failed', 'completed'],
  )

  await say(bob, chat, 'more')
  const { data: cost } = (await bob.get(`/chats/${chat}/cost`)).body
  const rows = (await bob.get(`/chats/${chat}/message-costs`)).body.data
  assert.deepEqual([cost.runs, cost.cost_usd, cost.by_model.length], [2, 0.000013, 1])
  assert.deepEqual(
    rows.map((row: { cost_usd: number | null }) => row.cost_usd),
    [null, null, 0.000006, null, 0.000007],
  )
  assert.equal(rows[4].run.cost_usd, 0.000007)
  await server.app.engine.ledger.flush()
  const { rows: calls } = await server.app.engine.postgres.pool.query(
    'select run_id, message_id, cost_nano, surface from calls where chat_id = $1 order by id',
    [chat],
  )
  assert.deepEqual(
    calls.map((call: { cost_nano: bigint; surface: string }) => [call.cost_nano, call.surface]),
    [
      [6_000n, 'chat'],
      [7_000n, 'chat'],
    ],
  )
  assert.deepEqual([calls[0].run_id, calls[0].message_id], [run.id, answer.id])
})

test('interrupted answers and ones that exceed their reservation cost what the ledger recorded', async () => {
  const dave = await server.person('Dave')
  await alice.post(`/admin/accounts/${dave.id}/credits`, { amount_usd: 1 })
  const chat = await createChat(dave, { model: 'sim/script' })
  const broken = JSON.stringify({ steps: [{ text: 'half of it' }, { error: { type: 'server_error', message: 'oh' } }] })
  const { run_id } = (await dave.post(`/chats/${chat}/messages`, { content: broken })).body.error.details
  const usageScript = JSON.stringify({ steps: [{ text: 'hi' }], usage: { output_tokens: 40_000_000 } })
  const { run } = await say(dave, chat, usageScript)
  const { engine } = server.app
  await engine.ledger.flush()
  const { rows } = await engine.postgres.pool.query(
    'select run_id, cost_nano from calls where chat_id = $1 order by id',
    [chat],
  )
  const charged = rows.map((call: { run_id: string; cost_nano: bigint }) => [call.run_id, Number(call.cost_nano) / 1e9])
  assert.ok(rows[0].cost_nano > 0n && rows[1].cost_nano < 1_000_000_000n, JSON.stringify(charged))
  const failed = (await dave.get(`/chats/${chat}/runs/${run_id}`)).body.data
  assert.deepEqual(charged, [
    [failed.id, failed.cost_usd],
    [run.id, run.cost_usd],
  ])
  const { cost_usd } = (await dave.get(`/chats/${chat}/cost`)).body.data
  assert.equal(cost_usd, Number(rows[0].cost_nano + rows[1].cost_nano) / 1e9)
})

test('subscribers to a chat or workspace receive message and run events without text', async () => {
  const chat = await createChat(alice)
  await say(alice, chat, 'a secret')
  const { pool } = server.app.engine.postgres
  const queryChanges = () =>
    pool.query(`select type, data::text from changes where channel = $1 order by "offset"`, [`chat:${chat}`])
  let { rows } = await queryChanges()
  for (const until = Date.now() + PATIENCE_MS; rows.length < 5 && Date.now() < until; { rows } = await queryChanges())
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(
    rows.map(({ type }) => type),
    ['chat.created', 'message.created', 'run.started', 'message.completed', 'run.completed'],
  )
  assert.ok(!rows.some(({ data }) => data.includes('secret')))
})
