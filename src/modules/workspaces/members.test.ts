import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, type Person, testServer } from '#test/server.ts'
import { becomes } from '#test/until.ts'
import { code, join, team } from '#test/workspaces/team.ts'

test('each role can do what its permissions allow, and a viewer can only read', async () => {
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

test('permissions narrow a role, and a member can’t grant more than their own', async () => {
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
  // Joining needs the account itself, whatever the token.
  for (const one of [token, 'nothing'])
    assert.deepEqual(code(await key.post('/invitations/accept', { token: one })), [403, 'capability_denied'])
})

test('removing a member stops their key in every process', async () => {
  await using server = await testServer()
  const { alice, id, at, people } = await team(server, 'member')
  const [bob] = people as [Person]
  await using twin = await server.twin()
  const held = await bob.key()
  const there: Caller = { ...held, get: (path) => twin.stranger.get(path, held.headers) }
  assert.equal((await there.get(`/workspaces/${id}`)).status, 200)
  assert.deepEqual((await alice.delete(`${at}/members/${bob.id}`)).body, { deleted: true, id: bob.id })
  assert.equal((await held.get(`/workspaces/${id}`)).status, 404, 'at once where it was done')
  await becomes(async () => (await there.get(`/workspaces/${id}`)).status, 404)
  assert.deepEqual(
    (await bob.get('/workspaces')).body.data.map((row: { id: string }) => row.id),
    [bob.workspaceId],
  )
})

test('the audit records who changed whose permissions, the previous ones, and how', async () => {
  await using server = await testServer()
  const { alice, id, at, people } = await team(server, 'member')
  const [bob] = people as [Person]
  const key = await alice.key({ scopes: ['member:write'] })
  await key.patch(`${at}/members/${bob.id}`, { role: 'admin' })
  // No-op and rejected changes aren't recorded.
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

test('of two owners who demote each other at the same time, one stays', async () => {
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

test('two owners who leave at the same time can’t leave the workspace without an owner', async () => {
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

test('an owner transfers their workspace and leaves', async () => {
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

test('only members of a shared workspace can be added by ID', async () => {
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
  // A key restricted to one workspace knows no members of the other.
  const key = await alice.key({ workspace_id: second })
  await alice.delete(`/workspaces/${second}/members/${bob.id}`)
  assert.equal((await key.post(`/workspaces/${second}/members`, { user_id: bob.id })).status, 404)
  assert.equal((await alice.get(`${at}/members`)).body.data.length, 2, id)
})

test('paging through members works while others join', async () => {
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
