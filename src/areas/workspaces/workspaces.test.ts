import assert from 'node:assert/strict'
import { test } from 'node:test'
import { script } from '#test/chats/chats.ts'
import { readEvents } from '#test/events.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { stopwatch, until } from '#test/until.ts'

/** A workspace of alice's, and whom she let in by invitation, each with a role. */
async function team(server: TestServer, ...roles: string[]) {
  const alice = await server.person('Alice')
  const made = await alice.post('/workspaces', { name: 'Team' })
  assert.equal(made.status, 201, made.text)
  const { id } = made.body.data
  const people: Person[] = []
  for (const [i, role] of roles.entries()) {
    const person = await server.person(['Bob', 'Dora', 'Emil'][i]!)
    await join(alice, person, id, { role })
    people.push(person)
  }
  return { alice, id: id as string, at: `/workspaces/${id}`, people }
}

async function join(inviter: Caller, person: Person, workspaceId: string, grant: object) {
  const invited = await inviter.post(`/workspaces/${workspaceId}/invitations`, { email: person.email, ...grant })
  assert.equal(invited.status, 201, invited.text)
  const accepted = await person.post('/invitations/accept', { token: invited.body.data.token })
  assert.equal(accepted.status, 200, accepted.text)
  return accepted.body.data
}

const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body.error?.code]

test('everybody has a personal workspace that stays, and is alone in it', async () => {
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

test('alice invites bob; bob accepts and reads what is hers; carol gets 404', async () => {
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

test('each role may what it says, and a viewer only reads', async () => {
  await using server = await testServer()
  const { alice, id, at, people } = await team(server, 'viewer', 'member', 'admin')
  const [viewer, member, admin] = people as [Person, Person, Person]
  const refused = [403, 'insufficient_role']
  const { id: agentId } = (await member.post('/agents', { name: 'Clerk', workspace_id: id })).body.data
  assert.deepEqual(code(await viewer.post('/agents', { name: 'Clerk', workspace_id: id })), refused)
  assert.deepEqual(code(await viewer.patch(`/agents/${agentId}`, { name: 'X' })), refused)
  assert.deepEqual(code(await viewer.delete(`/agents/${agentId}`)), refused)
  assert.deepEqual(code(await member.patch(at, { name: 'X' })), refused)
  assert.deepEqual(code(await member.post(`${at}/invitations`, { email: 'x@example.com' })), refused)
  assert.equal((await admin.patch(at, { name: 'Crew' })).body.data.name, 'Crew')
  assert.deepEqual(code(await admin.delete(`${at}?confirm=Crew`)), refused)
  assert.deepEqual(code(await admin.post(`${at}/invitations`, { email: 'x@example.com', role: 'owner' })), refused)
  assert.deepEqual(code(await admin.patch(`${at}/members/${member.id}`, { role: 'owner' })), refused)
  assert.deepEqual(code(await admin.patch(`${at}/members/${alice.id}`, { role: 'viewer' })), refused)
  assert.deepEqual(code(await admin.delete(`${at}/members/${alice.id}`)), refused)
  assert.deepEqual(code(await member.delete(`${at}/members/${viewer.id}`)), refused)
  assert.equal((await admin.patch(`${at}/members/${viewer.id}`, { role: 'member' })).body.data.role, 'member')
  assert.equal((await viewer.patch(`/agents/${agentId}`, { name: 'X' })).status, 200)
})

test('permissions narrow a role, and who is narrowed grants no more', async () => {
  await using server = await testServer()
  const { alice, id, at } = await team(server)
  const bob = await server.person('Bob')
  const dora = await server.person('Dora')
  const emil = await server.person('Emil')
  await join(alice, bob, id, { role: 'admin', permissions: ['member:write', 'agent:read', 'workspace:read'] })
  const { id: agentId } = (await alice.post('/agents', { name: 'Clerk', workspace_id: id })).body.data
  assert.equal((await bob.get(`/agents/${agentId}`)).status, 200)
  assert.deepEqual(code(await bob.patch(`/agents/${agentId}`, { name: 'X' })), [403, 'insufficient_role'])
  // An admin by role, not by what is left of it.
  assert.deepEqual(code(await bob.patch(at, { name: 'X' })), [403, 'insufficient_role'])

  const invite = (grant: object) => bob.post(`${at}/invitations`, { email: dora.email, ...grant })
  assert.deepEqual((await invite({ role: 'member' })).body.error.param, 'permissions')
  assert.deepEqual((await invite({ role: 'member', permissions: ['agent:write'] })).body.error.param, 'permissions')
  assert.deepEqual(code(await bob.patch(`${at}/members/${bob.id}`, { permissions: null })), [403, 'insufficient_role'])
  await join(bob, dora, id, { role: 'member', permissions: ['agent:read'] })
  assert.equal((await dora.get(`/agents/${agentId}`)).status, 200)
  assert.deepEqual(code(await dora.get(`/agents?workspace_id=${id}&status=trashed`)), [200, undefined])
  assert.deepEqual(code(await dora.get(at)), [403, 'insufficient_role'])
  assert.deepEqual(code(await dora.get(`${at}/members`)), [403, 'insufficient_role'])

  // Lists leave out what the permissions leave out.
  await join(alice, emil, id, { role: 'member', permissions: ['chat:read'] })
  assert.deepEqual((await emil.get('/agents')).body.data, [])
  assert.deepEqual(code(await emil.get(`/agents?workspace_id=${id}`)), [403, 'insufficient_role'])
  // Bob may take away what he could not give.
  assert.equal((await bob.patch(`${at}/members/${emil.id}`, { role: 'viewer' })).body.data.role, 'viewer')
  // Leaving needs no permission.
  assert.equal((await emil.delete(`${at}/members/${emil.id}`)).status, 200)
})

test('a key restricted to a workspace sees nothing else', async () => {
  await using server = await testServer()
  const { alice, id } = await team(server)
  const key = await alice.key({ workspace_id: id })
  const { id: elsewhere } = (await alice.post('/agents', { name: 'Private' })).body.data
  const { id: here } = (await key.post('/agents', { name: 'Shared' })).body.data
  const listed = async (path: string) => (await key.get(path)).body.data.map((row: { id: string }) => row.id)
  assert.deepEqual(await listed('/workspaces'), [id])
  assert.deepEqual(await listed('/agents'), [here])
  assert.equal((await key.get(`/agents/${elsewhere}`)).status, 404)
  assert.equal((await key.get(`/workspaces/${alice.workspaceId}`)).status, 404)
  assert.equal((await key.get(`/agents?workspace_id=${alice.workspaceId}`)).status, 404)
  assert.equal((await key.post('/agents', { name: 'X', workspace_id: alice.workspaceId })).status, 404)
  const moved = await key.post(`/agents/${here}/move`, { workspace_id: alice.workspaceId })
  assert.deepEqual([moved.status, moved.body.error.param], [404, 'workspace_id'])
  assert.deepEqual(code(await key.post('/workspaces', { name: 'More' })), [403, 'capability_denied'])
  const bob = await server.person('Bob')
  const other = (await bob.post('/workspaces', { name: 'Bobs' })).body.data.id
  const { token } = (await bob.post(`/workspaces/${other}/invitations`, { email: alice.email })).body.data
  // To join is the account's own affair, whatever the token says.
  for (const one of [token, 'nothing'])
    assert.deepEqual(code(await key.post('/invitations/accept', { token: one })), [403, 'capability_denied'])
})

test('an agent moves and is copied only to where the caller may write', async () => {
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

test('removing bob cuts his key in every process within a second', async () => {
  await using server = await testServer()
  const { alice, id, at, people } = await team(server, 'member')
  const [bob] = people as [Person]
  await using twin = await server.twin()
  const held = await bob.key()
  const there: Caller = { ...held, get: (path) => twin.stranger.get(path, held.headers) }
  assert.equal((await there.get(`/workspaces/${id}`)).status, 200)
  assert.deepEqual((await alice.delete(`${at}/members/${bob.id}`)).body, { deleted: true, id: bob.id })
  const since = stopwatch()
  assert.equal((await held.get(`/workspaces/${id}`)).status, 404, 'at once where it was done')
  while ((await there.get(`/workspaces/${id}`)).status !== 404)
    assert.ok(since() < 1_000, 'the other process still lets him in')
  assert.deepEqual(
    (await bob.get('/workspaces')).body.data.map((row: { id: string }) => row.id),
    [bob.workspaceId],
  )
})

test('the audit says who changed whose rights, what they were before, and how it was done', async () => {
  await using server = await testServer()
  const { alice, id, at, people } = await team(server, 'member')
  const [bob] = people as [Person]
  const key = await alice.key({ scopes: ['member:write'] })
  await key.patch(`${at}/members/${bob.id}`, { role: 'admin' })
  // A change to what already holds is not a change of rights, nor is one that was refused.
  await alice.patch(`${at}/members/${bob.id}`, { role: 'admin' })
  await bob.patch(`${at}/members/${alice.id}`, { role: 'viewer' })
  const invitation = (await bob.post(`${at}/invitations`, { email: 'dora@example.com' })).body.data
  await alice.delete(`${at}/invitations?invitation_id=${invitation.id}`)
  const resource = {
    resource_type: 'chat',
    resource_id: (await alice.post('/chats', { workspace_id: id })).body.data.id,
  }
  const share_id = (await alice.post('/shares', { ...resource, grantee: { email: 'dora@example.com' } })).body.data.id
  await bob.patch('/shares', { share_id, access: 'edit' })
  await alice.delete(`/shares?share_id=${share_id}`)
  await alice.delete(`${at}/members/${bob.id}`)
  const { rows } = await server.app.engine.postgres.pool.query(
    `select action, account_id::text as by, actor ->> 'via' as via, details ->> 'role_before' as before, details ->> 'role' as role
      from audit where workspace_id = $1 order by id`,
    [id],
  )
  const seen = rows.map(({ action, by, via }) => [action, by === alice.id ? 'Alice' : 'Bob', via])
  assert.deepEqual(seen, [
    ['workspace.created', 'Alice', 'session'],
    ['invitation.created', 'Alice', 'session'],
    ['invitation.accepted', 'Bob', 'session'],
    ['member.added', 'Bob', 'session'],
    ['member.updated', 'Alice', 'key'],
    ['invitation.created', 'Bob', 'session'],
    ['invitation.revoked', 'Alice', 'session'],
    ['share.created', 'Alice', 'session'],
    ['share.updated', 'Bob', 'session'],
    ['share.revoked', 'Alice', 'session'],
    ['member.removed', 'Alice', 'session'],
  ])
  assert.deepEqual([rows[4].before, rows[4].role], ['member', 'admin'])
})

test('of two owners who demote each other at once, one stays', async () => {
  await using server = await testServer()
  const { alice, at, people } = await team(server, 'owner')
  const [bob] = people as [Person]
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all([
      alice.patch(`${at}/members/${bob.id}`, { role: 'member' }),
      bob.patch(`${at}/members/${alice.id}`, { role: 'member' }),
    ])
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 403])
    const owners = (await alice.get(`${at}/members`)).body.data.filter((row: { role: string }) => row.role === 'owner')
    assert.equal(owners.length, 1)
    const [winner, other] = owners[0].user_id === alice.id ? [alice, bob] : [bob, alice]
    assert.equal((await winner.patch(`${at}/members/${other.id}`, { role: 'owner' })).status, 200)
  }
})

test('two owners who leave at once do not leave the workspace to nobody', async () => {
  await using server = await testServer()
  const { alice, at, people } = await team(server, 'owner')
  const [bob] = people as [Person]
  const leave = (person: Person) => person.delete(`${at}/members/${person.id}`)
  const answers = await Promise.all([leave(alice), leave(bob)])
  assert.deepEqual(answers.map(code).toSorted(), [
    [200, undefined],
    [409, 'last_owner'],
  ])
})

test('alice hands her workspace over and leaves', async () => {
  await using server = await testServer()
  const { alice, at, people } = await team(server, 'member')
  const [bob] = people as [Person]
  assert.deepEqual(code(await alice.patch(`${at}/members/${alice.id}`, { role: 'admin' })), [409, 'last_owner'])
  assert.deepEqual(code(await alice.patch(`${at}/members/${alice.id}`, { permissions: [] })), [409, 'last_owner'])
  assert.deepEqual(code(await alice.delete(`${at}/members/${alice.id}`)), [409, 'last_owner'])
  const { id: membershipId } = (await alice.get(`${at}/members`)).body.data.find(
    (row: { user_id: string }) => row.user_id === bob.id,
  )
  assert.equal((await alice.patch(`${at}/members/${membershipId}`, { role: 'owner' })).body.data.role, 'owner')
  assert.equal((await alice.patch(`${at}/members/${alice.id}`, { role: 'admin' })).body.data.role, 'admin')
  assert.equal((await alice.delete(`${at}/members/${alice.id}`)).status, 200)
  assert.equal((await alice.get(at)).status, 404)
  assert.deepEqual((await bob.get(at)).body.data.member_count, 1)
})

test('only somebody met in a workspace can be added by id', async () => {
  await using server = await testServer()
  const { alice, id, at, people } = await team(server, 'member')
  const [bob] = people as [Person]
  const carol = await server.person('Carol')
  const second = (await alice.post('/workspaces', { name: 'Second' })).body.data.id
  const add = (user_id: string) => alice.post(`/workspaces/${second}/members`, { user_id, role: 'viewer' })
  const unknown = await add(carol.id)
  assert.deepEqual([unknown.status, unknown.body.error.param], [404, 'user_id'])
  const nobody = await add('01KAJ8R3T2M6QK5W9V0XBZC4DE')
  assert.deepEqual(nobody.body.error, unknown.body.error, 'who has an account is not told')
  const added = await add(bob.id)
  assert.deepEqual([added.status, added.body.data.user_id, added.body.data.role], [201, bob.id, 'viewer'])
  assert.deepEqual(code(await add(bob.id)), [409, 'already_exists'])
  assert.equal((await bob.get(`/workspaces/${second}`)).status, 200)
  // A key that reaches only one workspace knows nobody from the other.
  const key = await alice.key({ workspace_id: second })
  await alice.delete(`/workspaces/${second}/members/${bob.id}`)
  assert.equal((await key.post(`/workspaces/${second}/members`, { user_id: bob.id })).status, 404)
  assert.equal((await alice.get(`${at}/members`)).body.data.length, 2, id)
})

test('an archived workspace is read-only until it is brought back', async () => {
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

test('a deleted workspace takes all that is in it, and its keys stop at once', async () => {
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

test('of a deleted workspace no word and no row is left but what the books and the audit say; its members are told how much went', async () => {
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
  const stays = ['api_keys', 'audit', 'calls', 'notifications', 'operations', 'storage_changes', 'usage_days']
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
  // The run that was under way leaves by itself, and so do jobs.
  let left = await holding()
  for (const end = Date.now() + 60_000; left.length > 0 && Date.now() < end;) left = await holding()
  assert.deepEqual(left, [])
})

test('what is put into a workspace that was just deleted in another process is refused like one that is not there', async () => {
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

test('a stale If-Match changes nothing, and unknown fields are refused', async () => {
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

test('members are paged while others come', async () => {
  await using server = await testServer()
  const { alice, id, at, people } = await team(server, 'member', 'member')
  const first = (await alice.get(`${at}/members?limit=2`)).body
  const late = await server.person('Emil')
  await join(alice, late, id, {})
  const rest = (await alice.get(`${at}/members?limit=2&cursor=${first.pagination.next_cursor}`)).body
  assert.deepEqual(
    [...first.data, ...rest.data].map((row: { user_id: string }) => row.user_id),
    [people[1]!.id, people[0]!.id, alice.id],
  )
  assert.equal(rest.pagination.has_more, false)
})
