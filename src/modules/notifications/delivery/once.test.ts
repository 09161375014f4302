import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailbox } from '#test/outside/mailbox.ts'
import { pushService } from '#test/outside/push-service.ts'
import { caller, testServer } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'
import { notificationSchedules } from '../service.ts'

test('two server processes send each of many notifications in one email and one push, even if delivery is requested again', async () => {
  await using mails = await mailbox()
  await using near = await testServer({
    environment: { SMTP_URL: mails.url, UK_FETCH_ALLOW: '127.0.0.0/8' },
  })
  await using far = await near.twin()
  const bob = await near.person('Bob')
  const { pool } = near.app.engine.postgres
  await pool.query('update accounts set email_verified_at = now() where id = $1', [bob.id])
  const key = (await bob.get('/notifications/push-key')).body.data.public_key as string
  await using service = await pushService(() => key)
  assert.equal((await bob.post('/notifications/push-subscriptions', service.subscription)).status, 201)
  await bob.patch('/notifications/preferences', {
    preferences: [{ type: 'message', channel: 'email', enabled: true }],
  })
  const doors = [near, far].map(({ origin }) => caller(origin, bob.headers))
  const titles = Array.from({ length: 12 }, (_, i) => `word ${i} of many`)
  const sent = await Promise.all(
    titles.map(async (title, i) => (await doors[i % 2]!.post('/notifications', { title })).body.data.id as string),
  )
  // As after a process died during delivery: several jobs look for due deliveries at once.
  await pool.query(
    `select graphile_worker.add_job('notifications.deliver', json_build_object('account_id', $1::text)) from generate_series(1, 6)`,
    [bob.id],
  )
  const deliveries = async () =>
    (
      await pool.query<{ channel: string; status: string; n: number }>(
        `select channel, status, count(*)::int as n from notification_deliveries where account_id = $1 group by 1, 2 order by 1`,
        [bob.id],
      )
    ).rows
  const jobs = async (): Promise<number> =>
    (
      await pool.query<{ n: number }>(
        `select count(*)::int as n from graphile_worker.jobs where task_identifier ~ '^(mail|notifications.deliver)'`,
      )
    ).rows[0]!.n
  await until(deliveries, (all) => !all.some(({ status }) => status === 'waiting'))
  await until(jobs, (count) => count === 0)
  assert.deepEqual(await deliveries(), [
    { channel: 'email', status: 'sent', n: 12 },
    { channel: 'push', status: 'sent', n: 12 },
  ])
  const pushed: unknown[] = []
  while (pushed.length < service.asked()) pushed.push((await service.next()).payload.id)
  assert.deepEqual(pushed.toSorted(), sent.toSorted())
  const mailed = mails.unread
    .map((mail) => mail.slice(mail.indexOf('\r\n\r\n')))
    .flatMap((body) =>
      [...body.slice(0, body.indexOf('<!doctype')).matchAll(/^word \d+ of many/gm)].map(([title]) => title),
    )
  assert.deepEqual(mailed.toSorted(), titles.toSorted())
})

test('an email whose job was lost is still sent, and notifications older than half a year are deleted', async () => {
  await using mails = await mailbox()
  await using server = await testServer({ environment: { SMTP_URL: mails.url } })
  const { engine } = server.app
  const bob = await server.person('Bob')
  const { pool } = engine.postgres
  await pool.query('update accounts set email_verified_at = now() where id = $1', [bob.id])
  await bob.patch('/notifications/preferences', {
    preferences: [{ type: 'message', channel: 'email', enabled: true, digest: 'daily' }],
  })
  const { id } = (await bob.post('/notifications', { title: 'Lost and found' })).body.data
  const old = (await bob.post('/notifications', { title: 'Long ago' })).body.data.id
  await pool.query(
    `update notification_deliveries set due_at = now() - interval '61 minutes' where notification_id = $1`,
    [id],
  )
  await pool.query(`update notifications set created_at = now() - interval '6 months 1 day' where id = $1`, [old])
  await pool.query(
    `select graphile_worker.remove_job(key) from graphile_worker.jobs where task_identifier = 'notifications.deliver'`,
  )
  for (const { name, run } of notificationSchedules(engine))
    if (name !== 'notifications.caps') await run({ signal: AbortSignal.timeout(PATIENCE_MS) })
  assert.match(await mails.next(), /^Subject: Lost and found\r$/m)
  assert.equal((await bob.get(`/notifications/${old}`)).status, 404)
  assert.equal((await bob.get(`/notifications/${id}`)).status, 200)
})
