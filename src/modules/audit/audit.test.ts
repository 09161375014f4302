import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, say, script, tools } from '#test/chats/chats.ts'
import { type Row, fire, isOver, runIs } from '#test/automations/hooks.ts'
import { type Caller, testServer } from '#test/server.ts'

test('owners read the changes in their workspaces, administrators read all, and other members get nothing', async () => {
  await using server = await testServer()
  const [root, alice, bob, carol] = [
    await server.person('Root'),
    await server.person('Alice'),
    await server.person('Bob'),
    await server.person('Carol'),
  ]
  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const invited = await alice.post(`/workspaces/${team}/invitations`, { email: bob.email, role: 'member' })
  assert.equal((await bob.post('/invitations/accept', { token: invited.body.data.token })).status, 200)
  const key = await alice.key({ scopes: ['member:write'] })
  assert.equal((await key.patch(`/workspaces/${team}/members/${bob.id}`, { role: 'admin' })).status, 200)

  const of = (who: Caller, more = '') => who.get(`/audit?workspace_id=${team}${more}`)
  const { data } = (await of(alice)).body
  assert.deepEqual(
    data.map(({ action, actor }: Row) => [action, actor.account_id === alice.id ? 'Alice' : 'Bob', actor.via]),
    [
      ['member.updated', 'Alice', 'key'],
      ['member.added', 'Bob', 'session'],
      ['invitation.accepted', 'Bob', 'session'],
      ['invitation.created', 'Alice', 'session'],
      ['workspace.created', 'Alice', 'session'],
    ],
  )
  assert.equal(data[0].actor.key_id, key.keyId)
  assert.deepEqual([data[0].details.role_before, data[0].details.role], ['member', 'admin'])
  assert.doesNotMatch(JSON.stringify(data), /uk_/)

  assert.equal((await of(bob)).status, 403)
  assert.equal((await of(carol)).status, 404)
  const elsewhere = await alice.key({ scopes: ['*'], workspace_id: alice.workspaceId })
  assert.equal((await of(elsewhere)).status, 404)
  assert.ok(!JSON.stringify((await elsewhere.get('/audit?limit=100')).body).includes(team))
  assert.equal((await of(root)).body.data.length, 5)
  // A key restricted to one workspace has no administrator rights.
  const held = await root.key({ scopes: ['*'], workspace_id: root.workspaceId })
  assert.equal((await of(held)).status, 404)
  assert.ok(!JSON.stringify((await held.get('/audit?limit=100')).body).includes(team))

  const first = (await of(alice, '&limit=2')).body
  const rest = (await of(alice, `&limit=100&cursor=${first.pagination.next_cursor}`)).body
  assert.deepEqual([...first.data, ...rest.data], data)
  assert.deepEqual((await of(alice, `&account_id=${bob.id}&action=member.added`)).body.data, [data[1]])

  // A former owner no longer reads it.
  assert.equal((await alice.patch(`/workspaces/${team}/members/${bob.id}`, { role: 'owner' })).status, 200)
  assert.equal((await bob.delete(`/workspaces/${team}/members/${alice.id}`)).status, 200)
  assert.equal((await of(alice)).status, 404)
  assert.equal((await of(bob)).body.data[0].action, 'member.removed')
})

test('an agent’s changes in an automation’s run are attributed to the run, the automation and the key that pays', async () => {
  await using server = await testServer()
  const { pool } = server.app.engine.postgres
  // The relay takes rows away: a trigger of the test sees those that were written.
  await pool.query(`create table told (type text, resource_id text, actor jsonb);
    create function tell() returns trigger language plpgsql as $$ begin
      insert into told values (new.type, new.resource_id, new.actor); return new; end $$;
    create trigger tell before insert on outbox for each row execute function tell()`)
  const alice = await server.person('Alice')
  const key = await alice.key({ scopes: ['*'] })
  const upload = { name: 'report.txt', content: 'All is well.', workspace_id: alice.workspaceId }
  const agent = await alice.post('/agents', {
    name: 'Clerk',
    model: 'sim/script',
    tools: [{ name: 'drive.upload', policy: 'allow' }],
  })
  const prompt = script([call('drive.upload', upload)], [say('Done.')])
  const action = { type: 'agent', agent_id: agent.body.data.id, prompt }
  const hook = (await key.post('/automations', { name: 'Report', kind: 'webhook', action })).body.data
  const { id } = (await fire(server, hook)).body.data
  const { chat_id, run_id } = await runIs(alice, hook, id, isOver)
  const by = { account_id: alice.id, via: 'server', key_id: key.keyId, automation_id: hook.id }
  const { rows } = await pool.query<{ type: string; actor: object }>(
    `select type, actor from told where type in ('file.created', 'chat.created', 'run.completed') and actor is not null order by type`,
  )
  assert.deepEqual(
    rows.map(({ type, actor }) => [type, actor]),
    [
      ['chat.created', { ...by, run_id }],
      ['file.created', { ...by, run_id }],
      ['run.completed', { ...by, run_id }],
    ],
    JSON.stringify(await alice.get(`/chats/${chat_id}/messages`)),
  )
})

test('the audit names who approved an agent’s tool call and who downloaded files, except for temporary chats', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 5, note: 'to talk' })
  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const invited = await alice.post(`/workspaces/${team}/invitations`, { email: bob.email, role: 'admin' })
  await bob.post('/invitations/accept', { token: invited.body.data.token })
  const given = { workspace_id: team, name: 'Clerk', model: 'sim/script', tools: tools({ 'chats.create': 'ask' }) }
  const agent = (await alice.post('/agents', given)).body.data.id
  const runs: string[] = []
  for (const temporary of [false, true]) {
    const chat = (await bob.post('/chats', { workspace_id: team, agent_id: agent, temporary })).body.data.id
    const content = script([call('chats_create', { title: 'x' }), call('chats_create', { title: 'y' })], [say('done')])
    const { run } = (await bob.post(`/chats/${chat}/messages`, { content })).body.data
    const [first, second] = run.pending_actions
    const actions = [
      { id: first.id, decision: 'deny' },
      { id: second.id, decision: 'allow' },
    ]
    const decided = await bob.post(`/chats/${chat}/runs/${run.id}/actions`, { actions })
    assert.equal(decided.status, 200, decided.text)
    runs.push(run.id)
  }
  const of = async (action: string): Promise<Row[]> =>
    (await alice.get(`/audit?workspace_id=${team}&action=${action}`)).body.data
  const allowed = await of('tool_call.allowed')
  assert.deepEqual(
    allowed.map(({ actor, subject, details }) => [actor.account_id, subject.id, details.tool, details.remember]),
    [[bob.id, runs[0], 'chats.create', null]],
  )

  const folder = (await bob.post('/drive/files/folders', { workspace_id: team, name: 'Plans' })).body.data.id
  const file = { parent_id: folder, name: 'a.txt', content: 'secret' }
  assert.equal((await bob.post('/drive/files', file)).status, 201)
  const moved = await bob.post(`/drive/files/${folder}/move`, { workspace_id: bob.workspaceId, parent_id: null })
  assert.equal(moved.status, 200, moved.text)
  const details = { from: team, to: bob.workspaceId, kind: 'folder', files: 1, bytes: 6 }
  const mine = (await bob.get(`/audit?workspace_id=${bob.workspaceId}&action=file.moved`)).body.data
  for (const entries of [await of('file.moved'), mine])
    assert.deepEqual(
      entries.map((entry: Row) => [entry.actor.account_id, entry.subject, entry.details]),
      [[bob.id, { type: 'file', id: folder }, details]],
    )
})
