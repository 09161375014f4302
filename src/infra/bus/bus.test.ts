import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '#test/database.ts'
import { wayToDatabase } from '#test/outside/way.ts'
import { until } from '#test/until.ts'
import { connectBus } from './bus.ts'
import { createLog } from '../log.ts'
import { connectPostgres } from '../postgres/client.ts'

test('after a database outage the bus listens once, not once per attempt', async () => {
  await using database = await testDatabase()
  using way = await wayToDatabase(database.connection)
  await using postgres = connectPostgres(database.connection, () => {})
  const through = { ...postgres, connection: way.connection }
  const bus = await connectBus(through, createLog('silent'))
  try {
    const listening = async (): Promise<number> =>
      (
        await postgres.pool.query(
          `select 1 from pg_stat_activity where application_name = 'ukiyo bus' and datname = current_database()`,
        )
      ).rowCount!
    assert.equal(await listening(), 1)
    way.open = false
    way.attempts = 0
    const at: number[] = []
    const attempts = (least: number) =>
      until(
        async () => way.attempts,
        (count) => count >= least && at.push(performance.now()) > 0,
      )
    way.cut()
    for (let least = 1; least <= 6; least++) await attempts(least)
    // Attempts are a second apart. A past bug doubled them, and the sixth came two seconds after the first.
    assert.ok(at[5]! - at[0]! > 3_000, at.join(' '))
    way.open = true
    await until(listening, (count) => count > 0)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    assert.equal(await listening(), 1)
  } finally {
    await bus[Symbol.asyncDispose]()
  }
})
