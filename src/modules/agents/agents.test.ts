import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { emptyTrash } from '#authz/lifecycle.ts'
import { resourcePage } from '#authz/resources.ts'
import { testServer } from '#test/server.ts'

test('an agent can be created and changed, and every version can be read', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const key = await alice.key({ scopes: ['agent:write'] })
  const createdAgent = await key.post('/agents', {
    name: 'Clerk',
    system_prompt: 'You file things.',
    tools: [{ name: 'drive.list', policy: 'allow' }, { name: 'chats.trash' }],
    output_schema: { type: 'object' },
  })
  assert.equal(createdAgent.status, 201, createdAgent.text)
  const { data: agent } = createdAgent.body
  assert.deepEqual(
    [agent.workspace_id, agent.created_by, agent.status, agent.version, agent.model, agent.max_turns, agent.trashed_at],
    [alice.workspaceId, alice.id, 'active', 1, null, null, null],
  )
  assert.deepEqual(agent.tools, [
    { name: 'drive.list', policy: 'allow' },
    { name: 'chats.trash', policy: 'ask' },
  ])

  const changed = await key.patch(`/agents/${agent.id}`, { model: 'sim/echo', max_turns: 9 })
  assert.deepEqual(
    [changed.body.data.version, changed.body.data.model, changed.body.data.name],
    [2, 'sim/echo', 'Clerk'],
  )
  assert.ok(changed.body.data.updated_at > agent.updated_at)
  const same = await key.patch(`/agents/${agent.id}`, { model: 'sim/echo' })
  assert.deepEqual(same.body, changed.body, 'what changes nothing makes no version')

  const first = await key.get(`/agents/${agent.id}/versions?limit=1`)
  assert.deepEqual([first.body.data[0].version, first.body.pagination.has_more], [2, true])
  const rest = await key.get(`/agents/${agent.id}/versions?cursor=${first.body.pagination.next_cursor}`)
  assert.deepEqual(
    rest.body.data.map((row: { version: number; model: string | null }) => [row.version, row.model]),
    [[1, null]],
  )
})

test('forged cursors are rejected', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const at = `/agents/${(await alice.post('/agents', { name: 'Helper' })).body.data.id}`
  await alice.patch(at, { name: 'Second' })
  const { next_cursor: cursor } = (await alice.get(`${at}/versions?limit=1`)).body.pagination
  const [print] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
  for (const position of ['x', 1.5, 1e300]) {
    const madeUp = Buffer.from(JSON.stringify([print, position])).toString('base64url')
    const answer = await alice.get(`${at}/versions?cursor=${madeUp}`)
    assert.deepEqual([answer.status, answer.body.error?.code], [400, 'invalid_cursor'], String(position))
  }
})

test('invalid agents are rejected with the field’s name', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const refused = async (body: object) => (await alice.post('/agents', body)).body.error
  assert.deepEqual(
    [(await refused({})).code, (await refused({ name: 'A', colour: 'red' })).code],
    ['missing_parameter', 'unknown_parameter'],
  )
  assert.equal((await refused({ name: 'A', max_turns: 0 })).param, 'max_turns')
  assert.equal((await refused({ name: 'A', tools: [{ name: 'x', policy: 'maybe' }] })).param, 'tools.0.policy')
  assert.equal((await refused({ name: 'A', tools: [{ name: 'x' }, { name: 'x' }] })).param, 'tools')
  assert.equal((await refused({ name: 'A', tools: [{ name: 'x', when: 1 }] })).param, 'tools.0.when')
  for (const name of ['drive.lits', 'api_keys.create']) {
    const { param, message } = await refused({ name: 'A', tools: [{ name: 'do' }, { name, policy: 'deny' }] })
    assert.deepEqual([param, /doesn’t exist/.test(message)], ['tools.1.name', true], message)
  }
  const agent = (await alice.post('/agents', { name: 'A', tools: [{ name: 'find' }, { name: 'drive_list' }] })).body
    .data
  assert.equal(
    (await alice.patch(`/agents/${agent.id}`, { tools: [{ name: 'nothing' }] })).body.error.param,
    'tools.0.name',
  )
  assert.match((await refused({ name: 'A', tools: [{ name: 'ai_gateway_usage' }] })).message, /`ai_gateway\.usage`/)
  for (const body of [
    { name: 'A\0' },
    { name: 'A', tools: [{ name: '\0' }] },
    { name: 'A', output_schema: { '\ud800': 1 } },
  ])
    assert.equal((await refused(body)).code, 'invalid_parameter')
})

test('an agent can be archived, trashed, restored and deleted', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { id } = (await alice.post('/agents', { name: 'Clerk' })).body.data
  const at = `/agents/${id}`
  const archived = await alice.post(`${at}/archive`)
  assert.equal(archived.body.data.status, 'archived')
  assert.deepEqual((await alice.post(`${at}/archive`)).body, archived.body, 'again changes nothing')

  const early = await alice.delete(`${at}/permanent-delete`)
  assert.deepEqual(
    [early.status, early.body.error.code, early.body.error.details],
    [409, 'invalid_state', { status: 'archived', allowed: ['unarchive', 'trash'] }],
  )
  assert.deepEqual((await alice.delete(at)).body, { deleted: true, id })
  assert.deepEqual((await alice.delete(at)).body, { deleted: true, id })
  for (const change of [alice.patch(at, { name: 'X' }), alice.post(`${at}/archive`), alice.post(`${at}/unarchive`)]) {
    const { status, body } = await change
    assert.deepEqual(
      [status, body.error.details],
      [409, { status: 'trashed', allowed: ['restore', 'permanent-delete'] }],
    )
  }
  const listed = async (status: string) => (await alice.get(`/agents?status=${status}`)).body.data.length
  assert.deepEqual([await listed('active'), await listed('archived'), await listed('trashed')], [0, 0, 1])

  const restored = await alice.post(`${at}/restore`)
  assert.deepEqual([restored.body.data.status, restored.body.data.trashed_at], ['archived', null])
  assert.equal(restored.body.data.archived_at, archived.body.data.archived_at)
  assert.equal((await alice.post(`${at}/restore`)).body.data.status, 'archived')
  assert.equal((await alice.post(`${at}/unarchive`)).body.data.status, 'active')
  await alice.delete(at)
  assert.deepEqual((await alice.delete(`${at}/permanent-delete`)).body, { deleted: true, id })
  assert.equal((await alice.get(at)).status, 404)
  assert.equal((await alice.delete(`${at}/permanent-delete`)).status, 404)
})

test('If-Match accepts one of two concurrent changes', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { id } = (await alice.post('/agents', { name: 'Clerk' })).body.data
  const etag = (await alice.get(`/agents/${id}`)).headers.get('etag')!
  const answers = await Promise.all(
    ['One', 'Two'].map((name) => alice.patch(`/agents/${id}`, { name }, { 'if-match': etag })),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 412])
  assert.equal((await alice.delete(`/agents/${id}`, undefined, { 'if-match': etag })).status, 412)
  assert.equal((await alice.get(`/agents/${id}`)).body.data.status, 'active')
})

test('If-Match also applies to actions, and is rejected for resources without an ETag', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { id } = (await alice.post('/agents', { name: 'Clerk' })).body.data
  const at = `/agents/${id}`
  const tag = async () => (await alice.get(at)).headers.get('etag')!
  const stale = await tag()
  await alice.patch(at, { name: 'Other' })
  assert.equal((await alice.post(`${at}/archive`, {}, { 'if-match': stale })).status, 412)
  assert.equal((await alice.get(at)).body.data.status, 'active')
  const copied = await alice.post(
    `${at}/copy-to-workspace`,
    { workspace_id: alice.workspaceId },
    { 'if-match': await tag() },
  )
  assert.equal(copied.status, 201)
  assert.equal((await alice.post(`${at}/archive`, {}, { 'if-match': await tag() })).status, 200)
  assert.equal((await alice.get(at)).body.data.status, 'archived')
  assert.equal((await alice.get(at, { 'if-match': stale })).status, 412)
  assert.equal((await alice.get(at, { 'if-match': await tag() })).status, 200)
  const createResponse = await alice.post('/agents', { name: 'New' }, { 'if-match': stale })
  assert.equal(createResponse.status, 412)
  assert.match(createResponse.body.error.message, /has no ETag/)
  assert.equal((await alice.get('/agents?status=active')).body.data.length, 1, 'the copy alone')
})

test('concurrent changes become consecutive versions', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { id } = (await alice.post('/agents', { name: 'Clerk' })).body.data
  await Promise.all(Array.from({ length: 8 }, (_, i) => alice.patch(`/agents/${id}`, { name: `Clerk ${i}` })))
  const { data } = (await alice.get(`/agents/${id}/versions`)).body
  assert.deepEqual(
    data.map((row: { version: number }) => row.version),
    [9, 8, 7, 6, 5, 4, 3, 2, 1],
  )
  assert.equal(data[0].name, (await alice.get(`/agents/${id}`)).body.data.name)
})

test('pages have no gaps or duplicates while other agents come and go', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const make = async (name: string) => (await alice.post('/agents', { name })).body.data.id as string
  const ids: string[] = []
  for (let i = 0; i < 9; i++) ids.push(await make(`Agent ${i}`))
  const listedIds: string[] = []
  let cursor = ''
  for (;;) {
    const { data, pagination } = (await alice.get(`/agents?limit=2${cursor}`)).body
    listedIds.push(...data.map((row: { id: string }) => row.id))
    await make('Latecomer')
    await alice.delete(`/agents/${data[0].id}`)
    if (!pagination.has_more) break
    cursor = `&cursor=${pagination.next_cursor}`
  }
  assert.deepEqual(listedIds, ids.toReversed())
  const other = await alice.get(`/agents?status=trashed${cursor}`)
  assert.equal(other.body.error.code, 'invalid_cursor', 'a cursor is bound to its filters')
})

test('the trash is emptied after thirty days, and the workspace gets an event', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const make = async () => (await alice.post('/agents', { name: 'Clerk' })).body.data.id as string
  const [old, fresh, active] = [await make(), await make(), await make()]
  await alice.delete(`/agents/${old}`)
  await alice.delete(`/agents/${fresh}`)
  const { postgres, bus } = server.app.engine
  await postgres.pool.query(`update resources set trashed_at = now() - interval '30 days 1 minute' where id = $1`, [
    old,
  ])
  const channelPromise = new Promise<string>((resolve) => {
    const look = async () => {
      const { rows } = await postgres.pool.query(`select channel from changes where type = 'agent.deleted'`)
      if (rows.length > 0) resolve(rows[0].channel)
    }
    bus.on('changes', () => void look())
    void look()
  })
  // The server's first scheduled run may empty it earlier.
  assert.ok((await emptyTrash(server.app.engine)) <= 1)
  assert.equal(await channelPromise, `workspace:${alice.workspaceId}`)
  assert.equal(await emptyTrash(server.app.engine), 0)
  const statuses = await Promise.all([old, fresh, active].map(async (id) => (await alice.get(`/agents/${id}`)).status))
  assert.deepEqual(statuses, [404, 200, 200])
})

test('listing a quiet workspace doesn’t scan newer rows of others', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const { pool, db } = server.app.engine.postgres
  await pool.query(
    `insert into resources (id, kind, workspace_id)
     select '0' || lpad(upper(to_hex(n)), 25, '0'), 'agent', case when n <= 10000 then $1 else $2 end
     from generate_series(1, 20000) n`,
    [alice.workspaceId, bob.workspaceId],
  )
  await pool.query(`insert into agents (id, name) select id, 'Agent' from resources where kind = 'agent'`)
  await pool.query('analyze resources, agents')
  const { data, pagination } = (await alice.get('/agents?limit=2')).body
  const next = (await alice.get(`/agents?limit=2&cursor=${pagination.next_cursor}`)).body.data
  const number = ({ id }: { id: string }) => Number.parseInt(id, 16)
  assert.deepEqual([...data, ...next].map(number), [10_000, 9_999, 9_998, 9_997])

  const page = { kind: 'agent', workspaces: [alice.workspaceId], status: 'active', before: null, limit: 26 } as const
  const explained: unknown = await db
    .selectFrom(resourcePage(page).as('r'))
    .selectAll()
    .explain('json', sql`analyze`)
  const [{ 'QUERY PLAN': plan }] = explained as [{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }]
  assert.match(JSON.stringify(plan), /"Index Name":"resources_list"/)
  const blocks = plan[0].Plan['Shared Hit Blocks']! + plan[0].Plan['Shared Read Blocks']!
  assert.ok(blocks < 50, `${blocks} blocks of the database for one page`)
})
