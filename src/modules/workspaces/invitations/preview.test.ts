import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

const tokenIn = (url: string): string => /#token=([\w-]{43})$/.exec(url)![1]!

test('an invitation link shows who invites into what, and when it no longer works', async () => {
  await using server = await testServer({ environment: { UK_PUBLIC_URL: 'http://127.0.0.1:1' } })
  const { stranger } = server
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const at = `/workspaces/${team.id}`
  const invite = async () => (await alice.post(`${at}/invitations`, { email: bob.email })).body.data
  const preview = (token: string) => stranger.post('/invitations/preview', { token })

  const invited = await invite()
  assert.match(invited.url, /^http:\/\/127\.0\.0\.1:1\/app\/invitations#token=[\w-]{43}$/)
  assert.equal(tokenIn(invited.url), invited.token)
  const [listed] = (await alice.get(`${at}/invitations`)).body.data
  assert.equal('url' in listed, false, 'it is shown once')
  const { data: told } = (await preview(invited.token)).body
  assert.deepEqual(
    [told.kind, told.status, told.workspace_name, told.role, told.invited_by, told.email, told.expires_at],
    ['workspace', 'pending', 'Team', 'member', 'Alice', bob.email, invited.expires_at],
  )
  assert.equal(JSON.stringify(told).includes(team.id), false, 'who is not in it learns no id of it')

  // An account with that address, or none: the answer is the same.
  const nobody = (await alice.post(`${at}/invitations`, { email: 'nobody@example.com' })).body.data
  const { data: other } = (await preview(nobody.token)).body
  assert.deepEqual(Object.keys(other), Object.keys(told))

  const newer = await invite()
  assert.equal((await preview(invited.token)).body.data.status, 'revoked')
  assert.equal((await bob.post('/invitations/accept', { token: newer.token })).status, 200)
  assert.equal((await preview(newer.token)).body.data.status, 'accepted')

  await server.app.engine.postgres.pool.query(
    `update invitations set expires_at = now() - interval '1 second' where id = $1`,
    [nobody.id],
  )
  assert.equal((await preview(nobody.token)).body.data.status, 'expired')
  const guessed = await preview('x'.repeat(43))
  assert.deepEqual([guessed.status, guessed.body.error.param], [404, 'token'])
})

test('an invitation whose inviter may no longer invite reads as revoked', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const { token } = (await alice.post(`/workspaces/${team.id}/invitations`, { email: bob.email, role: 'admin' })).body
    .data
  await bob.post('/invitations/accept', { token })
  const his = (await bob.post(`/workspaces/${team.id}/invitations`, { email: 'carol@example.com' })).body.data
  const status = async () => (await server.stranger.post('/invitations/preview', { token: his.token })).body.data.status
  assert.equal(await status(), 'pending')
  await alice.delete(`/workspaces/${team.id}/members/${bob.id}`)
  assert.equal(await status(), 'revoked')
})

test('guessed tokens count as failed sign-ins', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_LOGINS: '3' } })
  const statuses: number[] = []
  for (let i = 0; i < 5; i++)
    statuses.push((await server.stranger.post('/invitations/preview', { token: `guess ${i}` })).status)
  assert.deepEqual([statuses[0], statuses.at(-1)], [404, 429])
})

test('a link to a shared chat shows who shares what and works once, and existing users get a link to the chat', async () => {
  await using server = await testServer()
  const [alice, bob, carol] = [await server.person('Alice'), await server.person('Bob'), await server.person('Carol')]
  const chat = (await alice.post('/chats', { workspace_id: alice.workspaceId, title: 'Views' })).body.data
  const share = async (grantee: object) =>
    (await alice.post('/shares', { resource_type: 'chat', resource_id: chat.id, grantee })).body.data
  const { url, token } = await share({ email: 'bob@elsewhere.example' })
  assert.equal(tokenIn(url), token)
  const preview = () => server.stranger.post('/invitations/preview', { token })
  const { data: told } = (await preview()).body
  assert.deepEqual(
    [told.kind, told.status, told.invited_by, told.resource_type, told.title, told.access, told.workspace_name],
    ['share', 'pending', 'Alice', 'chat', 'Views', 'view', null],
  )
  await alice.delete(`/chats/${chat.id}`)
  assert.equal((await preview()).body.data.title, null, 'what is in the trash is nobody’s to read')
  await alice.post(`/chats/${chat.id}/restore`)
  assert.equal((await bob.post('/invitations/accept', { token })).body.data.resource_id, chat.id)
  const { data: taken } = (await preview()).body
  assert.deepEqual(
    [taken.status, taken.title],
    ['accepted', null],
    'whoever else has the link does not follow the chat',
  )
  assert.equal((await carol.post('/invitations/accept', { token })).status, 410)

  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const invited = (await alice.post(`/workspaces/${team.id}/invitations`, { email: carol.email })).body.data
  await carol.post('/invitations/accept', { token: invited.token })
  const known = await share({ user_id: carol.id })
  assert.deepEqual([known.token, known.url], [null, `${server.origin}/app/chats/${chat.id}`])
})
