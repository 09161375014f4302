import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { firingsOf } from './firings.ts'

test('the next firings show the clock changes between them', () => {
  const spring = firingsOf('30 2 * * *', 'Europe/Berlin', new Date('2027-03-26T12:00:00Z'), 3)
  assert.deepEqual(spring, [
    { at: '2027-03-27T01:30:00.000Z', local: '2027-03-27T02:30:00', utc_offset_minutes: 60, clock_change_minutes: 0 },
    // The clock skips 2:30.
    { at: '2027-03-28T01:00:00.000Z', local: '2027-03-28T03:00:00', utc_offset_minutes: 120, clock_change_minutes: 60 },
    { at: '2027-03-29T00:30:00.000Z', local: '2027-03-29T02:30:00', utc_offset_minutes: 120, clock_change_minutes: 0 },
  ])
  const autumn = firingsOf('0 9 * * 6,0', 'America/New_York', new Date('2027-11-05T12:00:00Z'), 2)
  assert.deepEqual(
    autumn.map(({ local, clock_change_minutes }) => [local, clock_change_minutes]),
    [
      ['2027-11-06T09:00:00', 0],
      ['2027-11-07T09:00:00', -60],
    ],
  )
  assert.equal(firingsOf('2027-03-28T02:30', 'Europe/Berlin', new Date('2027-01-01'), 5).length, 1)
})

test('a schedule’s firings can be previewed, and a local time fires once; other users see neither', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const carol = await server.person('Carol')
  const ask = (schedule: string, more = '') =>
    alice.get(`/v1/app/automation-firings?schedule=${encodeURIComponent(schedule)}${more}`)
  const weekdays = await ask('0 9 * * 1-5', '&time_zone=Asia/Tokyo&count=7')
  assert.equal(weekdays.status, 200, weekdays.text)
  assert.equal(weekdays.body.data.firings.length, 7)
  assert.ok(weekdays.body.data.firings.every(({ local }: { local: string }) => local.endsWith('T09:00:00')))
  for (const [schedule, code] of [
    ['0 25 * * *', 'invalid_cron'],
    ['2020-01-01T09:00', 'invalid_cron'],
    ['2030-02-30T09:00', 'invalid_cron'],
  ] as const)
    assert.deepEqual((await ask(schedule)).body.error.code, code, schedule)
  assert.equal((await ask('0 9 * * *', '&time_zone=Mars/Base')).body.error.code, 'invalid_time_zone')

  const agent = (await alice.post('/agents', { name: 'Clerk', model: 'sim/echo' })).body.data
  const template = {
    name: 'Once',
    kind: 'cron',
    action: { type: 'agent', agent_id: agent.id, prompt: 'Now.' },
  }
  const pastResponse = await alice.post('/automations', { ...template, schedule: '2020-01-01T09:00' })
  assert.deepEqual([pastResponse.status, pastResponse.body.error.code], [400, 'invalid_cron'])
  // Far enough for a slow machine to create it in time.
  const soon = new Date(Date.now() + 10_000).toISOString().slice(0, 19)
  const response = await alice.post('/automations', { ...template, schedule: soon })
  assert.equal(response.status, 201, response.text)
  const { id, next_run_at } = response.body.data
  assert.equal(next_run_at, `${soon}.000Z`)
  const runs = await until(
    async () => (await alice.get(`/automations/${id}/runs`)).body.data,
    (rows) => rows[0]?.status === 'succeeded',
  )
  assert.equal(runs.length, 1)
  assert.equal((await alice.get(`/automations/${id}`)).body.data.next_run_at, null)
  const at = `/automations/${id}/runs/${runs[0].id}`
  assert.deepEqual((await alice.get(at)).body.data, (await alice.get(`/automations/${id}/runs`)).body.data[0])
  assert.equal((await carol.get(at)).status, 404)
  const other = (await alice.post('/automations', { ...template, schedule: '0 9 * * *' })).body.data
  assert.equal((await alice.get(`/automations/${other.id}/runs/${runs[0].id}`)).status, 404)
})
