import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const share = (type: string, id: string, grantee: object, access = 'view') => ({
  resource_type: type,
  resource_id: id,
  grantee,
  access,
})

test('a shared folder’s contents are readable but not writable, and outsiders get 404', async () => {
  await using server = await testServer()
  const [alice, bob, carol] = [await server.person('Alice'), await server.person('Bob'), await server.person('Carol')]
  await together(alice, bob)
  const folder = (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: 'Plans' })).body
    .data
  const inner = (await alice.post('/drive/files/folders', { parent_id: folder.id, name: 'Deep' })).body.data
  const file = (await alice.post('/drive/files', { parent_id: inner.id, name: 'a.txt', content: 'the plan' })).body.data
  const beside = (await alice.post('/drive/files', { workspace_id: alice.workspaceId, name: 'b.txt', content: 'mine' }))
    .body.data
  assert.equal((await bob.get(`/drive/files/${file.id}`)).status, 404)

  const created = await alice.post('/shares', share('folder', folder.id, { user_id: bob.id }))
  assert.equal(created.status, 201, created.text)
  assert.deepEqual(
    [created.body.data.access, created.body.data.status, created.body.data.token],
    ['view', 'active', null],
  )
  assert.equal((await bob.get(`/drive/files/${file.id}`)).text, 'the plan')
  assert.deepEqual(
    (await bob.get(`/drive/files?parent_id=${inner.id}`)).body.data.map((row: { name: string }) => row.name),
    ['a.txt'],
  )
  assert.equal((await bob.get(`/drive/files/${beside.id}/metadata`)).status, 404)
  assert.equal((await carol.get(`/drive/files/${file.id}`)).status, 404)
  for (const answer of [
    await bob.patch(`/drive/files/${file.id}`, { content: 'another plan' }),
    await bob.post('/drive/files', { parent_id: inner.id, name: 'c.txt', content: 'x' }),
    await bob.delete(`/drive/files/${file.id}`),
    await bob.post(`/drive/files/${file.id}/signed-url`, {}),
    await bob.post(`/drive/files/${file.id}/move`, { parent_id: null }),
  ])
    assert.deepEqual([answer.status, answer.body.error.code], [403, 'insufficient_role'], answer.text)

  const thrown = (await alice.post('/drive/files', { parent_id: inner.id, name: 'old.txt', content: 'old' })).body.data
  await alice.delete(`/drive/files/${thrown.id}`)
  const trash = `/drive/files?parent_id=${inner.id}&status=trashed`
  assert.equal((await alice.get(trash)).body.data[0].id, thrown.id)
  assert.deepEqual((await bob.get(trash)).body.data, [], 'what was thrown out of it is not shared')

  const listed = await bob.get('/shared-with-me')
  assert.deepEqual(
    listed.body.data.map((row: Record<string, unknown>) => [row.resource_id, row.title, row.shared_by]),
    [[folder.id, 'Plans', 'Alice']],
  )
  assert.deepEqual((await carol.get('/shared-with-me')).body.data, [])

  const edit = await alice.patch('/shares', { ...share('folder', folder.id, { user_id: bob.id }, 'edit') })
  assert.equal(edit.body.data?.access, 'edit', edit.text)
  assert.equal((await bob.patch(`/drive/files/${file.id}`, { content: 'another plan' })).status, 200)
  assert.equal((await bob.post('/drive/files', { parent_id: inner.id, name: 'c.txt', content: 'x' })).status, 201)
  assert.equal((await alice.get(`/drive/files/${file.id}`)).text, 'another plan')
  assert.equal((await bob.delete(`/drive/files/${file.id}`)).status, 403, 'to trash is for members')

  const revoked = await alice.delete(`/shares?resource_type=folder&resource_id=${folder.id}&user_id=${bob.id}`)
  assert.deepEqual(revoked.body, { deleted: true, id: created.body.data.id })
  assert.equal((await bob.get(`/drive/files/${file.id}`)).status, 404)
  assert.deepEqual((await bob.get('/shared-with-me')).body.data, [])
})

test('a share with a workspace covers its members while they belong to it, and no keys of other workspaces', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const team = await together(alice, bob)
  const agent = (await alice.post('/agents', { name: 'Helper' })).body.data
  assert.equal((await bob.get(`/agents/${agent.id}`)).status, 404)
  assert.equal((await alice.post('/shares', share('agent', agent.id, { workspace_id: team }, 'edit'))).status, 201)
  assert.equal((await bob.patch(`/agents/${agent.id}`, { name: 'Better' })).body.data.name, 'Better')
  const armed = await bob.patch(`/agents/${agent.id}`, { tools: [{ name: 'do', policy: 'allow' }] })
  assert.equal(armed.status, 403, 'tools act in the rights of those who talk to it: its members choose them')
  const here = await bob.key({ scopes: ['agent:read', 'share:read'], workspace_id: team })
  const elsewhere = await bob.key({ scopes: ['agent:read', 'share:read'], workspace_id: bob.workspaceId })
  const narrow = await bob.key({ scopes: ['share:read'] })
  assert.equal((await here.get(`/agents/${agent.id}`)).status, 200)
  assert.equal((await elsewhere.get(`/agents/${agent.id}`)).status, 404)
  assert.deepEqual((await elsewhere.get('/shared-with-me')).body.data, [])
  assert.deepEqual((await narrow.get('/shared-with-me')).body.data, [], 'a key without agent:read learns of no agent')
  await alice.delete(`/workspaces/${team}/members/${bob.id}`)
  assert.equal((await bob.get(`/agents/${agent.id}`)).status, 404)
})

test('members without chat access don’t see a chat shared with their workspace', async () => {
  await using server = await testServer()
  const [alice, bob, carol] = [await server.person('Alice'), await server.person('Bob'), await server.person('Carol')]
  const team = await together(alice, bob, 'viewer')
  await alice.patch(`/workspaces/${team}/members/${bob.id}`, { permissions: ['agent:read', 'share:read'] })
  const crew = await together(alice, carol, 'viewer')
  const [chat, agent] = [
    (await alice.post('/chats', { title: 'A secret plan' })).body.data,
    (await alice.post('/agents', { name: 'Helper' })).body.data,
  ]
  for (const workspace_id of [team, crew]) {
    await alice.post('/shares', share('chat', chat.id, { workspace_id }))
    await alice.post('/shares', share('agent', agent.id, { workspace_id }))
  }
  const sharedTitles = async (who: typeof alice) =>
    (await who.get('/shared-with-me')).body.data.map(({ title }: { title: string }) => title)
  assert.deepEqual(await sharedTitles(bob), ['Helper'])
  assert.deepEqual(await sharedTitles(carol), ['Helper', 'A secret plan'])
  const notified = async (who: typeof alice) =>
    (await who.get('/notifications')).body.data
      .filter(({ type }: { type: string }) => type === 'share.received')
      .map(({ title }: { title: string }) => title)
      .sort()
  await until(
    () => notified(carol),
    ({ length }) => length >= 2,
  )
  assert.deepEqual(await notified(carol), ['Alice shared a chat with you', 'Alice shared an agent with you'])
  assert.deepEqual(await notified(bob), ['Alice shared an agent with you'])
})

test('a share with an email address waits for its owner', async () => {
  await using server = await testServer()
  const [alice, bob, mallory] = [
    await server.person('Alice'),
    await server.person('Bob'),
    await server.person('Mallory'),
  ]
  const chat = (await alice.post('/chats', { title: 'Secret' })).body.data
  const created = await alice.post('/shares', share('chat', chat.id, { email: bob.email.toUpperCase() }))
  assert.deepEqual([created.status, created.body.data.status], [201, 'pending'], created.text)
  assert.match(created.body.data.token, /^[\w-]{43}$/)
  assert.equal(
    (await bob.get(`/chats/${chat.id}`)).status,
    404,
    'an address that anybody can sign up with shows nothing',
  )
  assert.equal((await mallory.post('/invitations/accept', { token: 'x'.repeat(43) })).status, 404)
  const accepted = await bob.post('/invitations/accept', { token: created.body.data.token })
  assert.deepEqual(
    [accepted.status, accepted.body.data.resource_id, accepted.body.data.status],
    [200, chat.id, 'active'],
    accepted.text,
  )
  assert.equal((await bob.get(`/chats/${chat.id}`)).body.data.title, 'Secret')
  assert.equal((await mallory.post('/invitations/accept', { token: created.body.data.token })).status, 410)
  assert.equal((await mallory.get(`/chats/${chat.id}`)).status, 404)
  const back = await bob.delete('/shares', { share_id: created.body.data.id })
  assert.equal(back.status, 200, 'who has a share may give it back')
  assert.equal((await bob.get(`/chats/${chat.id}`)).status, 404)
})

test('users can’t share beyond their permissions, other users’ resources, or with unknown accounts', async () => {
  await using server = await testServer()
  const [alice, bob, carol] = [await server.person('Alice'), await server.person('Bob'), await server.person('Carol')]
  const team = await together(alice, bob, 'viewer')
  const agent = (await alice.post('/agents', { name: 'Helper', workspace_id: team })).body.data
  const refused = async (who: typeof alice, body: object) => {
    const { status, body: answer } = await who.post('/shares', body)
    return [status, answer.error?.code ?? answer.error?.type, answer.error?.param ?? null]
  }
  assert.deepEqual(await refused(bob, share('agent', agent.id, { email: 'x@example.com' }, 'edit')), [
    403,
    'insufficient_role',
    null,
  ])
  assert.deepEqual(await refused(carol, share('agent', agent.id, { email: 'x@example.com' })), [
    404,
    'not_found',
    'resource_id',
  ])
  assert.deepEqual(await refused(alice, share('chat', agent.id, { email: 'x@example.com' })), [
    404,
    'not_found',
    'resource_id',
  ])
  assert.deepEqual(await refused(alice, share('agent', agent.id, { user_id: carol.id })), [
    404,
    'not_found',
    'grantee.user_id',
  ])
  assert.deepEqual(await refused(alice, share('agent', agent.id, { workspace_id: carol.workspaceId })), [
    404,
    'not_found',
    'grantee.workspace_id',
  ])
  assert.equal((await refused(alice, share('agent', agent.id, { user_id: bob.id, email: 'x@example.com' })))[0], 400)
  assert.equal((await alice.post('/shares', share('agent', agent.id, { email: 'x@example.com' }))).status, 201)
  assert.deepEqual(await refused(alice, share('agent', agent.id, { email: 'X@example.com' })), [
    409,
    'already_exists',
    'grantee',
  ])
  const listed = await alice.get(`/shares?resource_type=agent&resource_id=${agent.id}`)
  assert.deepEqual(
    listed.body.data.map((row: { grantee: { email: string } }) => row.grantee.email),
    ['x@example.com'],
  )
  assert.equal((await carol.get(`/shares?resource_type=agent&resource_id=${agent.id}`)).status, 404)
  assert.equal((await carol.delete('/shares', { share_id: listed.body.data[0].id })).status, 404)
})

test('sharing needs write access: viewers, members without share:write and archived workspaces are rejected; viewers given edit access only view', async () => {
  await using server = await testServer()
  const [alice, bob, carol] = [await server.person('Alice'), await server.person('Bob'), await server.person('Carol')]
  const team = await together(alice, bob, 'viewer')
  const agent = (await alice.post('/agents', { name: 'Helper', workspace_id: team })).body.data
  const outside = share('agent', agent.id, { email: 'x@example.com' })
  const refused = async (who: typeof alice, body: object) => {
    const { status, body: answer } = await who.post('/shares', body)
    return [status, answer.error?.code]
  }
  assert.deepEqual(await refused(bob, outside), [403, 'insufficient_role'], 'who only reads lets nobody else in')
  await alice.patch(`/workspaces/${team}/members/${bob.id}`, {
    role: 'member',
    permissions: ['agent:read', 'agent:write'],
  })
  assert.deepEqual(await refused(bob, outside), [403, 'insufficient_role'], 'permissions narrow sharing too')
  assert.equal((await bob.get(`/shares?resource_type=agent&resource_id=${agent.id}`)).status, 403)
  const outsideShare = (await alice.post('/shares', outside)).body.data
  assert.equal((await bob.patch('/shares', { share_id: outsideShare.id, access: 'edit' })).status, 403)
  assert.equal((await bob.delete('/shares', { share_id: outsideShare.id })).status, 403)

  const readers = await together(alice, carol, 'viewer')
  await alice.post('/shares', share('agent', agent.id, { workspace_id: readers }, 'edit'))
  assert.equal((await carol.get(`/agents/${agent.id}`)).status, 200)
  assert.equal((await carol.patch(`/agents/${agent.id}`, { name: 'Mine' })).status, 403, 'a viewer there only views')
  await alice.patch(`/workspaces/${readers}/members/${carol.id}`, { role: 'member' })
  assert.equal((await carol.patch(`/agents/${agent.id}`, { name: 'Ours' })).status, 200)

  const ownAgent = (await alice.post('/agents', { name: 'Own' })).body.data
  const ownShare = (await alice.post('/shares', share('agent', ownAgent.id, { user_id: bob.id }))).body.data
  const limitedKey = await bob.key({ scopes: ['share:write', 'agent:write'], workspace_id: bob.workspaceId })
  assert.equal((await limitedKey.delete('/shares', { share_id: ownShare.id })).status, 404, 'a key of one workspace')
  await alice.post(`/workspaces/${team}/archive`)
  assert.deepEqual(await refused(alice, share('agent', agent.id, { email: 'y@example.com' })), [409, 'invalid_state'])
})

test('a user sees the shares they gave while they are in the workspace, and others don’t', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const team = await together(alice, bob, 'owner')
  const chat = (await alice.post('/chats', { title: 'Views' })).body.data
  const agent = (await alice.post('/agents', { name: 'Clerk', workspace_id: team })).body.data
  for (const body of [
    share('chat', chat.id, { email: 'carol@example.com' }),
    share('agent', agent.id, { user_id: bob.id }, 'edit'),
  ])
    assert.equal((await alice.post('/shares', body)).status, 201)
  const listGiven = async (by: { get: typeof alice.get } = alice) =>
    (await by.get('/v1/app/shares')).body.data.map((row: any) => [row.title, row.grantee.email ?? row.grantee.name])
  const views = ['Views', 'carol@example.com']
  assert.deepEqual(
    (await listGiven()).map(([title]: string[]) => title),
    ['Clerk', 'Views'],
  )
  assert.deepEqual(await listGiven(bob), [])
  const key = await alice.key({ scopes: ['share:read', 'chat:read'] })
  assert.deepEqual(await listGiven(key), [views], 'a key that reads no agents')
  assert.equal((await alice.delete(`/workspaces/${team}/members/${alice.id}`)).status, 200)
  assert.deepEqual(await listGiven(), [views])
  await alice.delete(`/chats/${chat.id}`)
  assert.deepEqual(await listGiven(), [])
})

async function together(
  owner: Awaited<ReturnType<Awaited<ReturnType<typeof testServer>>['person']>>,
  other: typeof owner,
  role = 'member',
): Promise<string> {
  const { id } = (await owner.post('/workspaces', { name: 'Team' })).body.data
  const { token } = (await owner.post(`/workspaces/${id}/invitations`, { email: other.email, role })).body.data
  await other.post('/invitations/accept', { token })
  return id
}

test('an unclaimed link stops working when its creator can no longer share, and claimed shares stay', async () => {
  await using server = await testServer()
  const [alice, bob, carol, dave] = [
    await server.person('Alice'),
    await server.person('Bob'),
    await server.person('Carol'),
    await server.person('Dave'),
  ]
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  const invited = await alice.post(`/workspaces/${team}/invitations`, { email: bob.email, role: 'member' })
  await bob.post('/invitations/accept', { token: invited.body.data.token })
  const file = (await alice.post('/drive/files', { workspace_id: team, name: 'a.txt', content: 'the plan' })).body.data
  const linkFor = async (email: string, access: string) => {
    const created = await bob.post('/shares', share('file', file.id, { email }, access))
    assert.equal(created.status, 201, created.text)
    return created.body.data.token
  }
  const [claimedLink, pendingLink] = [await linkFor(carol.email, 'view'), await linkFor('mallory@example.com', 'edit')]
  const look = async () => (await dave.post('/invitations/preview', { token: pendingLink })).body.data
  const take = (token: string) => dave.post('/invitations/accept', { token })
  assert.equal((await carol.post('/invitations/accept', { token: claimedLink })).status, 200)
  assert.deepEqual([(await look()).status, (await look()).title], ['pending', 'a.txt'])

  await alice.patch(`/workspaces/${team}/members/${bob.id}`, { role: 'viewer' })
  assert.deepEqual([(await take(pendingLink)).status, (await look()).status], [410, 'revoked'])
  await alice.delete(`/workspaces/${team}/members/${bob.id}`)
  const refused = await take(pendingLink)
  assert.deepEqual([refused.status, refused.body.error.code], [410, 'invitation_expired'], refused.text)
  assert.deepEqual([(await look()).status, (await look()).title], ['revoked', null])
  assert.equal((await dave.get(`/drive/files/${file.id}`)).status, 404)
  assert.equal((await carol.get(`/drive/files/${file.id}`)).text, 'the plan')
})
