import assert from 'node:assert/strict'
import { test } from 'node:test'
import { script } from '#test/chats/chats.ts'
import { readEvents } from '#test/events.ts'
import { type Caller, type Person, testServer } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'
import { code, join, team } from '#test/workspaces/team.ts'

test('every user has a personal workspace that can’t be deleted or shared', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const { data } = (await alice.get('/workspaces')).body
  assert.deepEqual(
    data.map((row: Record<string, unknown>) => [row.id, row.name, row.kind, row.role, row.member_count]),
    [[alice.workspaceId, 'Personal', 'personal', 'owner', 1]],
  )
  const at = `/workspaces/${alice.workspaceId}`
  const refused = [409, 'personal_workspace']
  assert.deepEqual(code(await alice.delete(`${at}?confirm=Personal`)), refused)
  assert.deepEqual(code(await alice.post(`${at}/archive`)), refused)
  assert.deepEqual(code(await alice.post(`${at}/invitations`, { email: bob.email })), refused)
  assert.deepEqual(code(await alice.post(`${at}/members`, { user_id: bob.id })), refused)
  assert.deepEqual(code(await alice.delete(`${at}/members/${alice.id}`)), [409, 'last_owner'])
  assert.equal((await alice.patch(at, { name: 'Mine' })).body.data.name, 'Mine')
})

test('an invited member can read the workspace, and other users get 404', async () => {
  await using server = await testServer()
  const { alice, id, at } = await team(server)
  const bob = await server.person('Bob')
  const carol = await server.person('Carol')
  const agent = (await alice.post('/agents', { name: 'Clerk', workspace_id: id })).body.data
  for (const path of [at, `${at}/members`, `${at}/invitations`, `/agents/${agent.id}`, `/agents?workspace_id=${id}`])
    assert.equal((await bob.get(path)).status, 404, path)

  const member = (await join(alice, bob, id, { role: 'viewer' })).member
  assert.deepEqual([member.user_id, member.role, member.workspace_id], [bob.id, 'viewer', id])
  assert.equal((await bob.get(`/agents/${agent.id}`)).body.data.name, 'Clerk')
  assert.deepEqual(
    (await bob.get('/agents')).body.data.map((row: { id: string }) => row.id),
    [agent.id],
  )
  const mine = (await bob.get(at)).body.data
  assert.deepEqual([mine.role, mine.member_count, mine.name], ['viewer', 2, 'Team'])
  const names = (await bob.get(`${at}/members`)).body.data.map((row: { name: string }) => row.name)
  assert.deepEqual(names, ['Bob', 'Alice'])
  for (const path of [at, `${at}/members`, `/agents/${agent.id}`]) assert.equal((await carol.get(path)).status, 404)
  assert.deepEqual((await carol.get('/agents')).body.data, [])
})

test('an agent can be moved or copied only to where the caller may write', async () => {
  await using server = await testServer()
  const { alice, id, people } = await team(server, 'viewer')
  const [bob] = people as [Person]
  const { data: agent } = (await alice.post('/agents', { name: 'Clerk', workspace_id: id, model: 'sim/echo' })).body
  // Reading is enough to copy away; moving takes something from where it is.
  const copy = await bob.post(`/agents/${agent.id}/copy-to-workspace`, { workspace_id: bob.workspaceId })
  assert.equal(copy.status, 201, copy.text)
  const { data } = copy.body
  assert.deepEqual(
    [data.name, data.model, data.version, data.workspace_id, data.created_by],
    ['Clerk', 'sim/echo', 1, bob.workspaceId, bob.id],
  )
  assert.notEqual(data.id, agent.id)
  assert.deepEqual(code(await bob.post(`/agents/${agent.id}/move`, { workspace_id: bob.workspaceId })), [
    403,
    'insufficient_role',
  ])
  assert.deepEqual(code(await bob.post(`/agents/${data.id}/move`, { workspace_id: id })), [403, 'insufficient_role'])
  assert.equal((await bob.post(`/agents/${data.id}/move`, { workspace_id: alice.workspaceId })).status, 404)

  const moved = await alice.post(`/agents/${agent.id}/move`, { workspace_id: alice.workspaceId })
  assert.equal(moved.body.data.workspace_id, alice.workspaceId)
  assert.equal((await bob.get(`/agents/${agent.id}`)).status, 404)
  assert.equal((await bob.get(`/agents/${data.id}`)).status, 200, 'the copy is independent')
})

test('an archived workspace is read-only until restored', async () => {
  await using server = await testServer()
  const { alice, id, at, people } = await team(server, 'member')
  const [bob] = people as [Person]
  const { id: agentId } = (await bob.post('/agents', { name: 'Clerk', workspace_id: id })).body.data
  const archived = await alice.post(`${at}/archive`)
  assert.equal(archived.body.data.status, 'archived')
  assert.deepEqual((await alice.post(`${at}/archive`)).body, archived.body)
  const refused = [409, 'invalid_state']
  assert.deepEqual(code(await bob.patch(`/agents/${agentId}`, { name: 'X' })), refused)
  assert.deepEqual(code(await bob.post('/agents', { name: 'X', workspace_id: id })), refused)
  assert.deepEqual(code(await alice.patch(at, { name: 'X' })), refused)
  assert.deepEqual(code(await alice.post(`${at}/invitations`, { email: 'x@example.com' })), refused)
  assert.deepEqual(code(await alice.patch(`${at}/members/${bob.id}`, { role: 'viewer' })), refused)
  assert.equal((await bob.get(`/agents/${agentId}`)).status, 200)
  const copy = await bob.post(`/agents/${agentId}/copy-to-workspace`, { workspace_id: bob.workspaceId })
  assert.equal(copy.status, 201, 'what can be read can be copied away')
  assert.deepEqual(code(await bob.post(`/agents/${copy.body.data.id}/move`, { workspace_id: id })), refused)
  const listed = async (status: string) =>
    (await bob.get(`/workspaces?status=${status}`)).body.data.map((row: { id: string }) => row.id)
  assert.deepEqual(await listed('archived'), [id])
  assert.deepEqual(await listed('active'), [bob.workspaceId])
  assert.equal((await alice.post(`${at}/unarchive`)).body.data.archived_at, null)
  assert.equal((await bob.patch(`/agents/${agentId}`, { name: 'X' })).status, 200)
})

test('deleting a workspace deletes its contents and stops its keys immediately', async () => {
  await using server = await testServer()
  const { alice, id, at, people } = await team(server, 'member')
  const [bob] = people as [Person]
  const { id: agentId } = (await bob.post('/agents', { name: 'Clerk', workspace_id: id })).body.data
  await bob.delete(`/agents/${agentId}`)
  await bob.post('/agents', { name: 'Second', workspace_id: id })
  const key = await bob.key({ workspace_id: id })
  assert.equal((await key.get('/agents')).status, 200)
  assert.deepEqual(code(await bob.delete(`${at}?confirm=Team`)), [403, 'insufficient_role'])
  assert.deepEqual(code(await alice.delete(at)), [400, 'missing_parameter'])
  const wrong = await alice.delete(`${at}?confirm=team`)
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'confirm'])
  assert.deepEqual((await alice.delete(`${at}?confirm=Team`)).body, { deleted: true, id })
  assert.deepEqual(code(await key.get('/agents')), [401, 'revoked_api_key'])
  for (const path of [at, `${at}/members`, `/agents/${agentId}`]) assert.equal((await alice.get(path)).status, 404)
  assert.equal((await bob.get(at)).status, 404)
  assert.equal((await alice.delete(`${at}?confirm=Team`)).status, 404)
  const { rows } = await server.app.engine.postgres.pool.query(
    `select actor, details from audit where workspace_id = $1 and action = 'workspace.deleted'`,
    [id],
  )
  assert.deepEqual(rows, [
    {
      actor: { account_id: alice.id, via: 'session' },
      details: { name: 'Team', removed: { agent: 2, file_bytes: 0, members: 2, keys: 1 } },
    },
  ])
})

test('a deleted workspace leaves only ledger and audit rows, and its members learn what was deleted', async () => {
  await using server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } })
  const { alice, id, at, people } = await team(server, 'member')
  const [bob] = people as [Person]
  const put = async (path: string, body: object) => {
    const answer = await alice.post(path, body)
    assert.ok([200, 201, 202].includes(answer.status), answer.text)
    return answer.body.data.id
  }
  const agent_id = await put('/agents', { name: 'Clerk', model: 'sim/script', workspace_id: id })
  const chat = await put('/chats', { workspace_id: id, agent_id })
  await put(`/chats/${chat}/messages`, { content: script({ text: 'a pelican' }) })
  const busy = await put('/chats', { workspace_id: id, agent_id })
  await put(`/chats/${busy}/goal`, { objective: script({ text: 'a pelican' }, { delay_ms: 60_000 }) })
  const file = await put('/drive/files', { workspace_id: id, name: 'pelican.txt', content: 'a pelican flies' })
  await put('/shares', { resource_type: 'file', resource_id: file, grantee: { email: 'somebody@example.com' } })
  await put(`${at}/invitations`, { email: 'somebody@example.com' })
  const action = { type: 'agent', agent_id, prompt: 'a pelican' }
  await put('/automations', { name: 'Hook', kind: 'webhook', workspace_id: id, action })
  await put('/ai-gateway/provider-endpoints', {
    name: 'Bird',
    slug: 'bird',
    shape: 'openai-chat',
    base_url: 'http://127.0.0.1:9/v1',
    workspace_id: id,
  })
  await put('/webhook-endpoints', {
    name: 'Bird',
    url: 'https://example.com/bird',
    events: ['agent.created'],
    workspace_id: id,
  })
  const { pool } = server.app.engine.postgres
  // Found by search, so that this is to be forgotten too.
  await until(
    () => alice.get(`/search?q=pelican&mode=keyword&workspace_id=${id}&types=file`),
    ({ body }) => body.data.length > 0,
  )
  const told = readEvents(bob, `/realtime/subscribe?channels=user:${bob.id}`)
  await told.next()
  assert.equal((await alice.delete(`${at}?confirm=Team`)).status, 200)
  for await (const { data } of told)
    if (data.type === 'workspace.deleted') {
      assert.deepEqual(data.data.removed, {
        agent: 1,
        automation: 1,
        chat: 2,
        file: 1,
        file_bytes: 15,
        members: 2,
        keys: 0,
      })
      break
    }
  // The tables of what belongs to accounts, or says that something was: the rest has no place for it.
  const stays = [
    'api_keys',
    'audit',
    'calls',
    'notifications',
    'operations',
    'request_log',
    'storage_changes',
    'usage_days',
  ]
  const { rows: columns } = await pool.query<{ of: string; name: string }>(
    `select table_name as of, column_name as name from information_schema.columns where table_schema = 'public'
      and (column_name = 'workspace_id' or data_type in ('text', 'json', 'jsonb'))`,
  )
  const holding = async () => {
    const found: string[] = []
    for (const { of, name } of columns) {
      const sought = name === 'workspace_id' ? id : 'pelican'
      if (name === 'workspace_id' && stays.includes(of)) continue
      const { rowCount } = await pool.query(
        `select 1 from "${of}" where "${name}"::text like '%' || $1 || '%' limit 1`,
        [sought],
      )
      if (rowCount! > 0) found.push(`${of}.${name}`)
    }
    return found
  }
  // Running runs and jobs end on their own.
  let left = await holding()
  for (const end = Date.now() + PATIENCE_MS; left.length > 0 && Date.now() < end;) left = await holding()
  assert.deepEqual(left, [])
})

test('creating in a workspace just deleted by another process fails with 404', async () => {
  await using server = await testServer()
  const { alice, id, at } = await team(server)
  await using twin = await server.twin()
  const there: Caller = { ...alice, post: (path, body) => twin.stranger.post(path, body, alice.headers) }
  const agent = (await alice.post('/agents', { name: 'Wanderer' })).body.data
  // The other process knows her as its owner, and hears of the end only after these calls came.
  assert.equal((await twin.stranger.get(at, alice.headers)).status, 200)
  await server.app.engine.postgres.pool.query('delete from workspaces where id = $1', [id])
  const endpoint = { slug: 'late', shape: 'openai-chat', base_url: 'https://api.example.com/v1' }
  for (const answer of [
    await there.post('/agents', { name: 'Late', workspace_id: id }),
    await there.post(`/agents/${agent.id}/move`, { workspace_id: id }),
    await there.post(`/agents/${agent.id}/copy-to-workspace`, { workspace_id: id }),
    await there.post('/ai-gateway/provider-endpoints', { ...endpoint, workspace_id: id }),
  ])
    assert.deepEqual([answer.status, answer.body.error.param], [404, 'workspace_id'], answer.text)
})

test('a stale If-Match changes nothing, and unknown fields are rejected', async () => {
  await using server = await testServer()
  const { alice, at } = await team(server)
  const etag = (await alice.get(at)).headers.get('etag')!
  assert.equal((await alice.patch(at, { name: 'One' }, { 'if-match': etag })).status, 200)
  assert.deepEqual(code(await alice.patch(at, { name: 'Two' }, { 'if-match': etag })), [412, undefined])
  assert.deepEqual(code(await alice.delete(`${at}?confirm=One`, undefined, { 'if-match': etag })), [412, undefined])
  assert.equal((await alice.get(at)).body.data.name, 'One')
  assert.deepEqual(code(await alice.patch(at, { colour: 'red' })), [400, 'unknown_parameter'])
  assert.deepEqual(code(await alice.post('/workspaces', { name: 'X', kind: 'personal' })), [400, 'unknown_parameter'])
  assert.equal((await alice.post('/workspaces', { name: '  ' })).body.error.param, 'name')
  const { body } = await alice.post(`${at}/invitations`, { email: 'a@b.c, d@e.f' })
  assert.equal(body.error.param, 'email')
})
