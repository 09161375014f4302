import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { startRounds } from './rounds.ts'

test('a wake-up causes a round whenever it arrives, even as a round ends', async () => {
  await using server = await testServer()
  const { bus } = server.app.engine
  let startCount = 0
  let end = (): void => {}
  await using rounds = startRounds(
    { bus, poke: 'rounds of a test', pollMs: 3_600_000 },
    () => {
      startCount++
      return new Promise<void>((resolve) => (end = resolve))
    },
    (error) => assert.fail(String(error)),
  )
  for (let later = 0; later < 12; later++) {
    await until(
      () => Promise.resolve(startCount),
      (n) => n === later + 1,
    )
    end()
    for (let i = 0; i < later; i++) await Promise.resolve()
    rounds.wake()
  }
  await until(
    () => Promise.resolve(startCount),
    (n) => n === 13,
  )
  end()
})
