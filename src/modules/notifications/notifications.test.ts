import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#core/ids.ts'
import { readEvents } from '#test/events.ts'
import { type Mailbox, mailbox } from '#test/outside/mailbox.ts'
import { pushStore } from './delivery/push-store.ts'
import { type PushService, pushService } from '#test/outside/push-service.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

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

test('a message reaches its recipient in the app immediately, and unknown recipients are 404', async () => {
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
})

test('reading, reading all and deleting are sent as events, and repeating them changes nothing', async () => {
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

test('preferences change in bulk, and types enabled for email are emailed with an escaped title', async () => {
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

test('a user confirms their address with the emailed token, then receives email notifications', async () => {
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

test('in quiet hours emails are delayed until their end and toasts are silent; a digest is one email', async () => {
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

test('a browser subscribes, pushes are signed and encrypted for it, and an expired subscription is deleted', async () => {
  const dave = await server.person('Dave')
  let key = ''
  await using service: PushService = await pushService(() => key)
  key = (await dave.get('/notifications/push-key')).body.data.public_key
  assert.equal((await alice.get('/notifications/push-key')).body.data.public_key, key)
  // Subscriptions created by a key end with it.
  const program = await dave.key()
  const browsers = async () => (await dave.get('/notifications/push-subscriptions')).body.data.length
  assert.equal((await program.post('/notifications/push-subscriptions', service.subscription)).status, 201)
  assert.equal(await browsers(), 1)
  assert.equal((await dave.delete(`/api-keys/${program.keyId}`)).status, 200)
  assert.equal(await browsers(), 0)
  await pushStore.retain(server.app.engine.postgres.db)
  const left = 'select from push_subscriptions where account_id = $1'
  assert.equal((await server.app.engine.postgres.pool.query(left, [dave.id])).rowCount, 0)
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
  const other = { ...service.subscription, endpoint: `${service.subscription.endpoint}-other` }
  const both = await Promise.all(
    [dave, dave, alice, alice].map((one) => one.post('/notifications/push-subscriptions', other)),
  )
  assert.deepEqual(
    [both.map(({ status }) => status), new Set(both.map(({ body }) => body.data.id)).size],
    [[201, 201, 201, 201], 1],
  )
  for (const one of [dave, alice]) await one.delete(`/notifications/push-subscriptions/${both[0]!.body.data.id}`)
  const words = 'ü'.repeat(3_000)
  const sent = await dave.post('/notifications', { title: 'Ping', body: words, severity: 'warning' })
  const { payload, headers } = await service.next()
  const body = String(payload.body)
  assert.deepEqual(
    [payload.id, payload.title, body, headers.urgency, headers.topic],
    [sent.body.data.id, 'Ping', words.slice(0, body.length), 'high', sent.body.data.id],
  )
  assert.ok(body.length > 1_500, 'as much of it as a push service takes')
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

test('types disabled in the app aren’t shown, disabled toasts are silent, and a workspace key sees only that workspace’s notifications', async () => {
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
