import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { writeOutboxAll } from '#infra/outbox/outbox.ts'
import { type Id, newId } from '#core/ids.ts'
import { call, say, script, tools } from '#test/chats/chats.ts'
import { type Mailbox, mailbox } from '#test/outside/mailbox.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { watchCaps } from './caps.ts'

let server: TestServer
let mails: Mailbox
let alice: Person
let bob: Person
let carol: Person
let teamId: string
before(async () => {
  mails = await mailbox()
  server = await testServer({ environment: { SMTP_URL: mails.url, UK_FETCH_ALLOW: '127.0.0.0/8' } })
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  carol = await server.person('Carol')
  teamId = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  await alice.post(`/workspaces/${teamId}/invitations`, { email: bob.email })
  const token = /#token=([\w-]{43})/.exec(await mails.next())![1]
  assert.equal((await bob.post('/invitations/accept', { token })).status, 200)
})

after(async () => {
  await server[Symbol.asyncDispose]()
  await mails[Symbol.asyncDispose]()
})

/** The person's notifications of a type once there are so many. */
async function told(person: Person, type: string, n = 1): Promise<Record<string, any>[]> {
  for (;;) {
    const { body } = await person.get(`/notifications?type=${type}`)
    if (body.data.length >= n) return body.data
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('a background run, an invitation and a membership each notify the right people once', async () => {
  const chat = (await alice.post('/chats', { title: 'Report' })).body.data.id
  const sent = await alice.post(`/chats/${chat}/messages`, { content: 'write', model: 'sim/echo', background: true })
  assert.equal(sent.status, 202, sent.text)
  const [finished] = await told(alice, 'run.completed')
  assert.deepEqual(
    [finished!.title, finished!.resource.type, finished!.action_url],
    ['Finished: Report', 'run', `/app/chats/${chat}`],
  )
  const wait = await alice.post(`/chats/${chat}/messages`, { content: 'and this', model: 'sim/echo' })
  assert.equal(wait.status, 200)

  // Bob's address is verified, since his first invitation's token was emailed there.
  const other = (await alice.post('/workspaces', { name: 'Other' })).body.data.id
  await alice.post(`/workspaces/${other}/invitations`, { email: bob.email })
  const [invited] = await told(bob, 'invitation.received')
  assert.deepEqual([invited!.title, invited!.sender_id], ['Alice invited you to Other', null])
  await bob.post('/invitations/accept', { invitation_id: invited!.resource.id })
  assert.equal((await told(alice, 'invitation.accepted', 2))[0]!.title, 'Bob joined Other')
  const third = (await alice.post('/workspaces', { name: 'Third' })).body.data.id
  await alice.post(`/workspaces/${third}/members`, { user_id: bob.id, role: 'viewer' })
  const [added] = await told(bob, 'member.added')
  assert.deepEqual([added!.title, added!.workspace_id], ['You were added to Third', third])
  assert.equal((await told(alice, 'run.completed')).length, 1)
  // The event is delivered twice: it notifies no one twice.
  const { pool } = server.app.engine.postgres
  await pool.query(
    `insert into deliveries (consumer, seq, event) select 'notifications', 1000000, json_build_object('id', event_id, 'type', type,
      'channels', array['user:' || $2::text], 'resource_type', resource_type, 'resource_id', resource_id, 'actor', null, 'data', data, 'at', at)
     from changes where type = 'member.added' and channel = $1`,
    [`workspace:${third}`, bob.id],
  )
  await until(
    () => pool.query(`select 1 from deliveries where consumer = 'notifications'`),
    ({ rowCount }) => rowCount === 0,
  )
  assert.equal((await told(bob, 'member.added')).length, 1)
})

/** Resolves when all events so far were processed; they are processed in order. */
async function allTold(): Promise<void> {
  const id = (await alice.post('/workspaces', { name: 'Mark' })).body.data.id
  await alice.post(`/workspaces/${id}/members`, { user_id: bob.id })
  await until(
    () => told(bob, 'member.added'),
    (all) => all.some(({ workspace_id }) => workspace_id === id),
  )
}

async function endOf(person: Person, operation: string): Promise<string> {
  let status = 'queued'
  while (['queued', 'running'].includes(status))
    status = (await person.get(`/operations/${operation}/await?since_status=${status}`)).body.data.status
  return status
}

test('a run that fails or needs attention notifies its starter once if in the background or slow, and not someone viewing the chat', async () => {
  const { pool } = server.app.engine.postgres
  const eve = await server.person('Eve')
  await alice.post(`/admin/accounts/${eve.id}/credits`, { amount_usd: 1 })
  const words = async () => {
    await allTold()
    const { data } = (await eve.get('/notifications')).body
    return data.map(({ type, title, body, severity }: Record<string, unknown>) => [type, title, body, severity])
  }
  const boom = script({ error: { type: 'x', message: 'boom' } })
  const chat = (await eve.post('/chats', { title: 'Report', model: 'sim/script' })).body.data.id
  const send = (content: string, more: object = {}) => eve.post(`/chats/${chat}/messages`, { content, ...more })
  const error = (await send(boom)).body.error.message
  assert.deepEqual(await words(), [], 'who waits for it sees it')
  await send(boom, { background: true })
  const [failed] = await told(eve, 'run.failed')
  assert.deepEqual([failed!.resource.type, failed!.action_url], ['run', `/app/chats/${chat}`])
  const first = ['run.failed', 'Failed: Report', error, 'error']
  assert.deepEqual(await words(), [first])

  // Makes the run appear to have taken half a minute.
  const aged = async (content: string): Promise<void> => {
    const answer = send(content)
    for (let rows = 0; rows === 0;)
      rows = (
        await pool.query(
          `update runs set started_at = started_at - interval '40 seconds' where chat_id = $1 and status = 'running'`,
          [chat],
        )
      ).rowCount!
    await answer
  }
  await aged(script({ delay_ms: 1_500 }, { error: { type: 'x', message: 'boom' } }))
  await aged(script({ delay_ms: 1_500 }, { text: 'done' }))
  const finished = ['run.completed', 'Finished: Report', null, 'success']
  assert.deepEqual(await words(), [finished, first, first])
  await eve.post(`/realtime/chat:${chat}/presence`)
  await aged(script({ delay_ms: 1_500 }, { text: 'seen' }))
  assert.equal((await words()).length, 3)

  const asker = { name: 'Asker', model: 'sim/script', tools: tools({ 'workspaces.list': 'ask' }) }
  const agent_id = (await eve.post('/agents', asker)).body.data.id
  const other = (await eve.post('/chats', { title: 'Ask', agent_id })).body.data.id
  const sent = await eve.post(`/chats/${other}/messages`, {
    content: script([call('workspaces_list')], [say('listed')]),
    background: true,
  })
  const [waiting] = await told(eve, 'run.requires_action')
  assert.deepEqual([waiting!.title, waiting!.action_url], ['Waiting for your decision: Ask', `/app/chats/${other}`])
  assert.equal(await endOf(eve, sent.body.data.id), 'succeeded')
  const asked = ['run.requires_action', 'Waiting for your decision: Ask', null, 'warning']
  assert.deepEqual(await words(), [asked, finished, first, first], 'what waits is not finished')
  // Stopped by a person, who knows.
  const slow = await send(script({ delay_ms: 60_000 }), { background: true })
  await eve.post(`/chats/${chat}/stop`, { run_id: slow.body.data.resource.id })
  for (let state = 'queued'; ['queued', 'running'].includes(state);)
    state = (await eve.get(`/operations/${slow.body.data.id}/await?since_status=${state}`)).body.data.status
  assert.equal((await words()).length, 4)
})

test('other background work notifies people who enabled it when it ends', async () => {
  const finn = await server.person('Finn')
  await alice.post(`/admin/accounts/${finn.id}/credits`, { amount_usd: 1 })
  const ask = async (content: string): Promise<string> =>
    (
      await finn.post('/inference/text', {
        model: 'sim/script',
        messages: [{ role: 'user', content }],
        background: true,
      })
    ).body.data.id
  const ended = async (id: string): Promise<void> => {
    for (let state = 'queued'; ['queued', 'running'].includes(state);)
      state = (await finn.get(`/operations/${id}/await?since_status=${state}`)).body.data.status
  }
  await ended(await ask(script({ text: 'fine' })))
  await allTold()
  assert.equal((await finn.get('/notifications')).body.data.length, 0)
  const types = ['operation.succeeded', 'operation.failed']
  await finn.patch('/notifications/preferences', {
    preferences: types.map((type) => ({ type, channel: 'in_app', enabled: true })),
  })
  const done = await ask(script({ text: 'fine' }))
  const failed = await ask(script({ error: { type: 'x', message: 'boom' } }))
  const [good] = await told(finn, 'operation.succeeded')
  const [bad] = await told(finn, 'operation.failed')
  assert.deepEqual(
    [good!.resource, good!.severity, bad!.resource, bad!.severity],
    [{ type: 'operation', id: done }, 'success', { type: 'operation', id: failed }, 'error'],
  )
  assert.match(good!.title, /^Done: /)
  assert.match(bad!.title, /^Failed: /)
  assert.match(bad!.body, /boom/)
  // One that took so long that it was ended has not been done either.
  const endless = await ask(script({ delay_ms: 60_000 }))
  await server.app.engine.postgres.pool.query('update operations set expires_at = now() where id = $1', [endless])
  const [late] = await told(finn, 'operation.failed', 2)
  assert.equal(late!.resource.id, endless)
  assert.equal((await told(finn, 'operation.succeeded')).length, 1)
})

test('a failed automation notifies its owner, and sharing notifies the recipients, not the sharer', async () => {
  const agent = (await alice.post('/agents', { name: 'Bot', model: 'sim/script' })).body.data.id
  const boom = JSON.stringify({ steps: [{ error: { type: 'x', message: 'boom' } }] })
  const automation = await alice.post('/automations', {
    name: 'Nightly',
    kind: 'cron',
    schedule: '0 3 * * *',
    action: { type: 'agent', agent_id: agent, prompt: boom },
  })
  assert.equal((await alice.post(`/automations/${automation.body.data.id}/test-fire`, {})).status, 202)
  const [failed] = await told(alice, 'automation.failed')
  assert.deepEqual(
    [failed!.title, failed!.body, failed!.severity, failed!.resource],
    ['An automation run failed: Nightly', 'boom', 'error', { type: 'automation', id: automation.body.data.id }],
  )
  const chat = (await alice.post('/chats', { title: 'Shared' })).body.data.id
  await alice.post('/shares', {
    resource_type: 'chat',
    resource_id: chat,
    grantee: { user_id: bob.id },
    access: 'view',
  })
  const [received] = await told(bob, 'share.received')
  assert.deepEqual([received!.title, received!.resource], ['Alice shared a chat with you', { type: 'chat', id: chat }])
  assert.deepEqual((await alice.get('/notifications?type=share.received')).body.data, [])
})

test('keys, budgets and balances notify at 80 % and at 100 %, once each', async () => {
  const { engine } = server.app
  const key = await alice.key({ spend_cap_usd: 0.001, spend_cap_period: 'day' })
  // 1 USD per million input tokens, 2 per million output tokens: 20 words there and back are 0.00006.
  const say = (n: number) =>
    key.post('/inference/text', {
      model: 'sim/echo',
      messages: [{ role: 'user', content: Array(n).fill('w').join(' ') }],
      max_output_tokens: n,
    })
  for (let i = 0; i < 14; i++) {
    const said = await say(20)
    assert.equal(said.status, 200, said.text)
    await engine.ledger.flush()
  }
  const used = async () => {
    await engine.ledger.flush()
    await engine.postgres.pool.query('update api_keys set last_used_at = now() where id = $1', [key.keyId])
  }
  await used()
  await watchCaps(engine)
  await watchCaps(engine)
  const [near] = await told(alice, 'cap.near')
  assert.match(near!.title, /^80 % of the spend cap of the key test is used$/)
  assert.equal(near!.body, '0.00084 of 0.001 USD used.')
  await engine.postgres.pool.query('update api_keys set spend_cap_nano = 840000 where id = $1', [key.keyId])
  await watchCaps(engine)
  await watchCaps(engine)
  const [reached] = await told(alice, 'cap.reached')
  assert.equal(reached!.severity, 'error')

  // The people told of a workspace's cap are those who can do something about it.
  const tight = (await alice.post('/workspaces', { name: 'Tight' })).body.data.id
  await alice.post(`/workspaces/${tight}/members`, { user_id: bob.id, role: 'member' })
  const held = await alice.key({ workspace_id: tight })
  const words = { model: 'sim/echo', messages: [{ role: 'user', content: Array(20).fill('w').join(' ') }] }
  assert.equal((await held.post('/inference/text', words)).status, 200)
  await engine.ledger.flush()
  await alice.patch(`/workspaces/${tight}`, { spend_cap_usd: 0.00007, spend_cap_period: 'total' })
  await watchCaps(engine)
  const [budget] = await told(alice, 'cap.near', 2)
  assert.deepEqual([budget!.title, budget!.workspace_id], ['80 % of the budget of Tight is used', tight])
  await watchCaps(engine)
  assert.deepEqual((await bob.get('/notifications?type=cap.near')).body.data, [])

  await alice.post(`/admin/accounts/${carol.id}/credits`, { amount_usd: 1, note: 'a gift' })
  await until(
    () => engine.postgres.pool.query('select 1 from filled_balances where account_id = $1', [carol.id]),
    ({ rowCount }) => rowCount !== 0,
  )
  await engine.postgres.pool.query('update balances set nano = 150000000 where account_id = $1', [carol.id])
  await watchCaps(engine)
  assert.match((await told(carol, 'cap.near'))[0]!.title, /^80 % of your credits are used$/)
  await watchCaps(engine)
  assert.equal((await told(carol, 'cap.near')).length, 1)
  assert.equal((await told(alice, 'cap.near')).length, 2)
})

test('an intermittently failing provider notifies three times per hour, last of all that it fails', async () => {
  const { postgres, bus } = server.app.engine
  const [flapping, other] = [newId(), newId()]
  const event = (id: Id, status: string, before: string) => ({
    type: 'provider_endpoint.status_changed',
    channels: [`user:${alice.id}`],
    resource: { type: 'provider_endpoint', id },
    data: { id, workspace_id: null, name: 'loose', status, before, worked_before: true, message: 'It is away.' },
  })
  const turns = Array.from({ length: 6 }, () => [
    event(flapping, 'failing', 'working'),
    event(flapping, 'working', 'failing'),
  ]).flat()
  await writeOutboxAll(postgres.db, [...turns, event(other, 'failing', 'working')], null)
  bus.poke('outbox')
  const all = await until(
    async (): Promise<Record<string, any>[]> => (await alice.get('/notifications?limit=100')).body.data,
    (rows) => rows.some(({ resource }) => resource?.id === other),
  )
  const told = all.filter(({ resource }) => resource?.id === flapping)
  assert.deepEqual(told.map(({ type }) => type).toReversed(), [
    'provider.failing',
    'provider.working',
    'provider.failing',
    'provider.working',
    'provider.failing',
  ])
  assert.match(told[0]!.body, /^It is away\. .* won’t get more notifications about it for an hour\.$/)
})
