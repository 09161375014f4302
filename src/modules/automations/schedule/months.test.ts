// Slow: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { liveThrough } from '#test/automations/months.ts'

test('over nine days with clock changes, downtime, edits and a clock set back, every tick has exactly one row', async (t) => {
  const simulation = await liveThrough({
    from: '2027-03-27T00:00:00Z',
    until: '2027-04-05T00:00:00Z',
    automations: 8,
    seed: 7,
    downtimes: 2,
  })
  t.diagnostic(JSON.stringify(simulation))
  assert.ok(
    simulation.ticks > 200 &&
      simulation.ran > 20 &&
      simulation.edits > 5 &&
      simulation.downtimes > 0 &&
      simulation.setBack > 0,
  )
})
