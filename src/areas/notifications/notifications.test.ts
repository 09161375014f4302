import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#kernel/ids.ts'
import { call, say, script, tools } from '#test/chats/chats.ts'
import { readEvents } from '#test/events.ts'
import { type Mailbox, mailbox } from '#test/outside/mailbox.ts'
import { type PushService, pushService } from '#test/outside/push-service.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
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

/** The events on the person's own channel. */
async function own(person: Person) {
  const events = readEvents(person, `/realtime/subscribe?channels=user:${person.id}`)
  await events.next()
  return {
    async until(type: string) {
      for await (const { data } of { [Symbol.asyncIterator]: () => ({ next: () => events.next() }) })
        if (data.type === type) return data
      throw new Error('the stream ended')
    },
    [Symbol.asyncDispose]: async () => void (await events.return()),
  }
}

test('alice sends bob a word; it reaches him in the app at once; carol, whom she does not know, is 404', async () => {
  await using bobs = await own(bob)
  const sent = await alice.post('/notifications', {
    user_id: bob.id,
    title: 'Lunch?',
    body: 'At <noon>',
    action_url: '/app/chats',
    resource: { type: 'workspace', id: teamId },
  })
  assert.equal(sent.status, 201, sent.text)
  const { data } = await bobs.until('notification.created')
  assert.deepEqual(data.notification.title, 'Lunch?')
  assert.equal(data.silent, false)
  const { body } = await bob.get(`/notifications/${sent.body.data.id}`)
  assert.deepEqual(
    [body.data.type, body.data.severity, body.data.sender_id, body.data.status, body.data.resource.id],
    ['message', 'info', alice.id, 'unread', teamId],
  )
  assert.equal((await alice.get(`/notifications/${sent.body.data.id}`)).status, 404)
  for (const user_id of [carol.id, newId()]) {
    const answer = await alice.post('/notifications', { user_id, title: 'Hello' })
    assert.deepEqual([answer.status, answer.body.error.param], [404, 'user_id'])
  }
  for (const action_url of ['javascript:alert(1)', '//evil.example', 'http://a b'])
    assert.equal((await alice.post('/notifications', { title: 'x', action_url })).body.error.param, 'action_url')
})

test('reading, reading all, deleting: each is told on the channel, and repeating changes nothing', async () => {
  const send = async (title: string) => (await carol.post('/notifications', { title })).body.data
  const [first, second, third] = [await send('one'), await send('two'), await send('three')]
  const unread = async () => (await carol.get('/notifications/config')).body.data.unread_count
  assert.equal(await unread(), 3)
  await using carols = await own(carol)
  const read = await carol.patch(`/notifications/${first.id}`, { status: 'read' })
  assert.deepEqual([read.body.data.status, read.body.data.read_at !== null], ['read', true])
  assert.deepEqual((await carols.until('notification.updated')).data.status, 'read')
  assert.deepEqual((await carol.patch(`/notifications/${first.id}`, { status: 'read' })).body, read.body)
  const back = await carol.patch(`/notifications/${first.id}`, { status: 'unread' })
  assert.deepEqual([back.body.data.status, back.body.data.read_at], ['unread', null])
  assert.ok(back.body.data.updated_at > read.body.data.updated_at)
  const until = await carol.post('/notifications/read-all', { before: second.created_at })
  assert.equal(until.body.data.read_count, 2)
  assert.deepEqual(
    (await carol.get('/notifications?status=unread')).body.data.map(({ id }: { id: string }) => id),
    [third.id],
  )
  assert.equal((await carol.post('/notifications/read-all', {})).body.data.read_count, 1)
  assert.equal((await carol.post('/notifications/read-all', {})).body.data.read_count, 0)
  assert.equal(await unread(), 0)
  assert.deepEqual((await carol.delete(`/notifications/${second.id}`)).body, { deleted: true, id: second.id })
  assert.equal((await carols.until('notification.deleted')).resource.id, second.id)
  assert.equal((await carol.get(`/notifications/${second.id}`)).status, 404)
  const page = await carol.get('/notifications?limit=1')
  assert.equal(page.body.data[0].id, third.id)
  const next = await carol.get(`/notifications?limit=1&cursor=${page.body.pagination.next_cursor}`)
  assert.deepEqual([next.body.data[0].id, next.body.pagination.has_more], [first.id, false])
})

test('preferences are changed in bulk; what is wanted by mail comes by mail, with the title escaped', async () => {
  const before = (await bob.get('/notifications/preferences')).body.data
  assert.ok(
    before.preferences.some((each: any) => each.type === 'run.failed' && each.channel === 'push' && each.enabled),
  )
  const changed = await bob.patch('/notifications/preferences', {
    preferences: [
      { type: 'message', channel: 'email', enabled: true },
      { type: 'message', channel: 'push', enabled: false },
      { type: 'deploy.done', channel: 'in_app', enabled: false },
    ],
  })
  assert.equal(changed.status, 200, changed.text)
  assert.ok(changed.body.data.updated_at > before.updated_at)
  const of = (type: string) =>
    changed.body.data.preferences
      .filter((each: any) => each.type === type)
      .map((each: any) => [each.channel, each.enabled])
  assert.deepEqual(of('message'), [
    ['in_app', true],
    ['email', true],
    ['push', false],
  ])
  assert.deepEqual(of('deploy.done'), [
    ['in_app', false],
    ['email', false],
    ['push', true],
  ])
  const sent = await alice.post('/notifications', {
    user_id: bob.id,
    title: 'A <b>\nmail',
    body: 'words',
    action_url: '/app/x',
  })
  const mail = await mails.next()
  assert.match(mail, /^To: bob@example\.com\r$/m)
  assert.match(mail, /^Subject: A <b> mail\r$/m)
  assert.match(mail, /A &#60;b&#62;/)
  assert.ok(mail.includes(`${server.origin}/app/x`), mail)
  const shown = await bob.get(`/notifications/${sent.body.data.id}`)
  assert.deepEqual(
    shown.body.data.deliveries.map(({ channel, status }: any) => [channel, status]),
    [['email', 'sent']],
  )
  // Carol's address is not known to be hers: nothing goes there.
  await carol.patch('/notifications/preferences', {
    preferences: [{ type: 'message', channel: 'email', enabled: true }],
  })
  const unmailed = await carol.post('/notifications', { title: 'To myself' })
  assert.deepEqual(unmailed.body.data.deliveries, [])
  const wrong = await bob.patch('/notifications/preferences', {
    preferences: [{ type: 'message', channel: 'push', digest: 'daily' }],
  })
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'preferences.0.digest'])
})

test('carol confirms her address with the token that was mailed there; then what she wants by mail comes', async () => {
  const asked = await carol.post('/notifications/request-email', {})
  assert.deepEqual([asked.status, asked.body.data.verified], [200, false], asked.text)
  const mail = await mails.next()
  assert.match(mail, /^To: carol@example\.com\r$/m)
  const token = /\d{10}-[\w-]{43}/.exec(mail)![0]
  const soon = await carol.post('/notifications/request-email', {})
  assert.deepEqual([soon.status, soon.headers.get('retry-after')], [429, '300'])
  assert.equal((await bob.post('/notifications/confirm-email', { token })).body.error.param, 'token')
  const late = token.replace(/^\d{10}/, (until) => String(Number(until) + 9))
  assert.equal((await carol.post('/notifications/confirm-email', { token: late })).status, 400)
  assert.equal((await carol.post('/notifications/confirm-email', { token })).body.data.verified, true)
  assert.notEqual((await carol.get('/me')).body.data.email_verified_at, null)
  await carol.post('/notifications', { title: 'Now it comes' })
  assert.match(await mails.next(), /^Subject: Now it comes\r$/m)
  await carol.patch('/notifications/preferences', {
    preferences: [{ type: 'message', channel: 'email', enabled: false }],
  })
})

test('in quiet hours mail waits until their end and toasts keep quiet; a digest is one mail', async () => {
  const { pool } = server.app.engine.postgres
  const clock = (ms: number) => new Date(Date.now() + ms).toISOString().slice(11, 16)
  const config = await bob.patch('/notifications/config', {
    sound: false,
    quiet_hours: { start: clock(-3_600_000), end: clock(7_200_000), time_zone: 'UTC' },
  })
  assert.deepEqual([config.body.data.quiet_now, config.body.data.sound, config.body.data.toasts], [true, false, true])
  const bad = await bob.patch('/notifications/config', {
    quiet_hours: { start: '22:00', end: '06:00', time_zone: 'Mars/Base' },
  })
  assert.equal(bad.body.error.code, 'invalid_time_zone')
  await using bobs = await own(bob)
  const sent: string[] = []
  for (const title of ['first', 'second', 'read meanwhile'])
    sent.push((await alice.post('/notifications', { user_id: bob.id, title })).body.data.id)
  const wantNews = (enabled: boolean) =>
    bob.patch('/notifications/preferences', { preferences: [{ type: 'news', channel: 'email', enabled }] })
  await wantNews(true)
  const news = await alice.post('/notifications', { user_id: bob.id, type: 'news', title: 'switched off meanwhile' })
  sent.push(news.body.data.id)
  await wantNews(false)
  assert.equal((await bobs.until('notification.created')).data.silent, true)
  const waiting = (await bob.get(`/notifications/${sent[0]}`)).body.data.deliveries[0]
  assert.equal(waiting.status, 'waiting')
  assert.ok(Date.parse(waiting.due_at) > Date.now() + 3_600_000)
  await bob.patch(`/notifications/${sent[2]}`, { status: 'read' })
  // The end comes.
  await pool.query(`update notification_deliveries set due_at = now() where status = 'waiting' and account_id = $1`, [
    bob.id,
  ])
  await pool.query(
    `select graphile_worker.reschedule_jobs(array(select id from graphile_worker.jobs where key like 'notifications:%'), run_at => now())`,
  )
  const mail = await mails.next()
  assert.match(mail, /^Subject: 2 notifications: first\r$/m)
  assert.ok(mail.includes('second') && !mail.includes('meanwhile'))
  assert.deepEqual(
    await Promise.all(
      sent.map(async (id) => (await bob.get(`/notifications/${id}`)).body.data.deliveries[0].status as string),
    ),
    ['sent', 'sent', 'skipped', 'skipped'],
  )
  await bob.patch('/notifications/config', { quiet_hours: null })
  await bob.patch('/notifications/preferences', {
    preferences: [{ type: 'message', channel: 'email', digest: 'hourly' }],
  })
  const hourly = (await alice.post('/notifications', { user_id: bob.id, title: 'later' })).body.data
  const due = new Date((await bob.get(`/notifications/${hourly.id}`)).body.data.deliveries[0].due_at)
  assert.deepEqual([due.getUTCMinutes(), due > new Date()], [0, true])
  await bob.patch('/notifications/preferences', {
    preferences: [{ type: 'message', channel: 'email', enabled: false }],
  })
})

test('a browser subscribes; the push is signed for its service and only the browser can read it; a browser that is gone is forgotten', async () => {
  const dave = await server.person('Dave')
  let key = ''
  await using service: PushService = await pushService(() => key)
  key = (await dave.get('/notifications/push-key')).body.data.public_key
  assert.equal((await alice.get('/notifications/push-key')).body.data.public_key, key)
  const made = await dave.post('/notifications/push-subscriptions', { ...service.subscription, expirationTime: null })
  assert.equal(made.status, 201, made.text)
  assert.equal(made.body.data.endpoint_origin, service.origin)
  assert.ok(!made.text.includes('/send/'))
  const { keys } = service.subscription
  const astray = { ...service.subscription, keys: { ...keys, p256dh: `B${'A'.repeat(86)}` } }
  const refused = await dave.post('/notifications/push-subscriptions', astray)
  assert.deepEqual([refused.status, refused.body.error.param], [400, 'keys.p256dh'], 'nothing could be sealed for it')
  const again = await dave.post('/notifications/push-subscriptions', service.subscription)
  assert.equal(again.body.data.id, made.body.data.id)
  const words = 'ü'.repeat(3_000)
  const sent = await dave.post('/notifications', { title: 'Ping', body: words, severity: 'warning' })
  const { payload, headers } = await service.next()
  assert.deepEqual(
    [payload.id, payload.title, payload.body, headers.urgency, headers.topic],
    [sent.body.data.id, 'Ping', words.slice(0, 1_500), 'high', sent.body.data.id],
  )
  const { rows } = await server.app.engine.postgres.pool.query(
    'select endpoint, keys from push_subscriptions where account_id = $1 union all select value::text, name from instance where name = $2',
    [dave.id, 'vapid'],
  )
  assert.ok(!JSON.stringify(rows).includes('/send/') && !JSON.stringify(rows).includes(service.subscription.keys.auth))
  // First it fails for a while, then it takes it.
  service.answerWith(503)
  const asked = service.asked()
  await dave.post('/notifications', { title: 'Once more' })
  await until(
    async () => service.asked(),
    (now) => now > asked,
  )
  service.answerWith(201)
  assert.equal((await service.next()).payload.title, 'Once more')
  service.answerWith(410)
  const last = await dave.post('/notifications', { title: 'Nobody there' })
  await until(
    async () => (await dave.get('/notifications/push-subscriptions')).body.data,
    ({ length }) => length === 0,
  )
  for (;;) {
    const [push] = (await dave.get(`/notifications/${last.body.data.id}`)).body.data.deliveries
    if (push.status === 'skipped') break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
})

test('a run in the background, an invitation, a membership: each tells those whom it concerns, once', async () => {
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

  // Bob's address is known to be his, since the token of his first invitation was mailed there.
  const other = (await alice.post('/workspaces', { name: 'Other' })).body.data.id
  await alice.post(`/workspaces/${other}/invitations`, { email: bob.email })
  const [invited] = await told(bob, 'invitation.received')
  assert.deepEqual([invited!.title, invited!.sender_id], ['Alice invites you to Other', null])
  await bob.post('/invitations/accept', { invitation_id: invited!.resource.id })
  assert.equal((await told(alice, 'invitation.accepted', 2))[0]!.title, 'Bob joined Other')
  const third = (await alice.post('/workspaces', { name: 'Third' })).body.data.id
  await alice.post(`/workspaces/${third}/members`, { user_id: bob.id, role: 'viewer' })
  const [added] = await told(bob, 'member.added')
  assert.deepEqual([added!.title, added!.workspace_id], ['You were added to Third', third])
  assert.equal((await told(alice, 'run.completed')).length, 1)
  // The event comes again, as it may: nobody is told twice.
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

/** Resolves when whoever is to be told of what has happened so far was told: events are told of in their order. */
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

test('a run that fails or needs a person tells who began it, once: in the background or after a while, and not who looks on', async () => {
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

  // It has taken half a minute, as far as anybody can tell.
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
  assert.deepEqual([waiting!.title, waiting!.action_url], ['Waits for you: Ask', `/app/chats/${other}`])
  assert.equal(await endOf(eve, sent.body.data.id), 'succeeded')
  const asked = ['run.requires_action', 'Waits for you: Ask', null, 'warning']
  assert.deepEqual(await words(), [asked, finished, first, first], 'what waits is not finished')
  // Stopped by a person, who knows.
  const slow = await send(script({ delay_ms: 60_000 }), { background: true })
  await eve.post(`/chats/${chat}/stop`, { run_id: slow.body.data.resource.id })
  for (let state = 'queued'; ['queued', 'running'].includes(state);)
    state = (await eve.get(`/operations/${slow.body.data.id}/await?since_status=${state}`)).body.data.status
  assert.equal((await words()).length, 4)
})

test('other background work tells of its end whoever wants to hear of it', async () => {
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

test('a failed automation tells its owner; what is shared tells whom it is shared with, not who shares', async () => {
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
    ['A run of Nightly failed', 'boom', 'error', { type: 'automation', id: automation.body.data.id }],
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

test('a key, a budget and a balance near their end are told of at 80 % and at 100 %, once each', async () => {
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
  assert.match(near!.title, /^80 % of the cap of the key test is used$/)
  assert.equal(near!.body, '0.00084 of 0.001 USD.')
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

test('what is not wanted in the app is not shown there; without toasts it comes silently; a key of one workspace reads what came from that one', async () => {
  const gina = await server.person('Gina')
  const unwanted = { type: 'noise', channel: 'in_app', enabled: false }
  await gina.patch('/notifications/preferences', { preferences: [unwanted] })
  const noise = await gina.post('/notifications', { type: 'noise', title: 'Unheard' })
  assert.equal(noise.status, 201)
  assert.equal((await gina.get(`/notifications/${noise.body.data.id}`)).status, 404)
  assert.deepEqual((await gina.get('/notifications')).body.data, [])
  await gina.patch('/notifications/config', { toasts: false })
  await using ginas = await own(gina)
  const plain = (await gina.post('/notifications', { title: 'Heard' })).body.data
  const { data } = await ginas.until('notification.created')
  assert.deepEqual([data.notification.title, data.silent], ['Heard', true])

  const held = await gina.key({ workspace_id: gina.workspaceId })
  const own_ = (await held.post('/notifications', { title: 'From here' })).body.data
  const seen = async (by: Caller) => (await by.get('/notifications')).body.data.map(({ id }: { id: string }) => id)
  assert.deepEqual(await seen(held), [own_.id])
  assert.deepEqual(await seen(gina), [own_.id, plain.id])
  assert.equal((await held.get(`/notifications/${plain.id}`)).status, 404)
  assert.equal((await held.post('/notifications/read-all', {})).body.data.read_count, 1)
  assert.equal((await gina.get('/notifications/config')).body.data.unread_count, 1)
})
