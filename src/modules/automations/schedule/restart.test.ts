import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { moveClock, takeOverClock } from '#test/automations/held-clock.ts'
import { type Row, make } from '#test/automations/hooks.ts'
import { testDatabase } from '#test/database.ts'
import { caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const AWAY = 16
const catchUps = ['none', 'latest', 'all'] as const
const overlaps = ['skip', 'queue', 'cancel_previous', 'allow'] as const

test('after 16 seconds of downtime, `catch_up` decides about ticks over 2 s late, regardless of `overlap`', async () => {
  await using database = await testDatabase()
  const pool = new pg.Pool({ ...database.connection, max: 2 })
  pool.on('error', () => {})
  await using _pool = { [Symbol.asyncDispose]: () => pool.end() }
  const start = Date.parse('2027-03-01T00:00:00.500Z')
  await takeOverClock(pool, Date.now())
  const first = await testServer({ database, environment: { UK_DRAIN_SECONDS: '0' } })
  const alice = await first.person('Alice')
  const { key } = await alice.key()
  await moveClock(pool, start)
  const policyById = new Map<string, (typeof catchUps)[number]>()
  for (const catch_up of catchUps)
    for (const overlap of overlaps)
      policyById.set((await make(alice, { kind: 'cron', schedule: '* * * * * *', catch_up, overlap })).id, catch_up)
  await first[Symbol.asyncDispose]()

  await moveClock(pool, start + AWAY * 1_000)
  await using back = await testServer({ database })
  const again = caller(back.origin, { authorization: `Bearer ${key}` })
  for (const [id, catchUp] of policyById) {
    const { overlap } = (await again.get(`/automations/${id}`)).body.data
    const rows: Row[] = await until(
      async () => (await again.get(`/automations/${id}/runs?limit=100`)).body.data,
      (rows) => rows.length >= AWAY,
    )
    assert.equal(rows.length, AWAY, 'every tick is one row')
    const late = rows.filter(({ scheduled_for }) => start + AWAY * 1_000 - Date.parse(scheduled_for) > 2_000)
    assert.equal(late.length, AWAY - 2)
    const missedCount = late.filter(({ skip_reason }) => skip_reason === 'missed').length
    // The last tick is on time and runs, so none before it is made up for.
    assert.equal(missedCount, catchUp === 'all' ? 0 : AWAY - 2, `${catchUp}, ${overlap}`)
    const ran = rows.filter(({ skip_reason }) => skip_reason === null).map((row) => row.scheduled_for)
    const { next_run_at, last_run_at } = (await again.get(`/automations/${id}`)).body.data
    assert.ok(Date.parse(next_run_at) > start + AWAY * 1_000)
    if (overlap === 'allow') assert.equal(last_run_at, ran.toSorted().at(-1), 'the last that ran, no skipped one')
    if (catchUp === 'all') continue
    const began = rows.filter(({ status }) => status !== 'skipped').length
    assert.ok(began <= 2, `${catchUp}, ${overlap}: ${began} runs after the restart`)
  }
})
