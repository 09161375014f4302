// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { liveThrough } from '#test/automations/months.ts'

test('nine days in which clocks change north and south: with downtime, edits and a clock that is set back every tick is one row', async (t) => {
  const lived = await liveThrough({
    from: '2027-03-27T00:00:00Z',
    until: '2027-04-05T00:00:00Z',
    automations: 8,
    seed: 7,
    downtimes: 2,
  })
  t.diagnostic(JSON.stringify(lived))
  assert.ok(lived.ticks > 200 && lived.ran > 20 && lived.edits > 5 && lived.downtimes > 0 && lived.setBack > 0)
})
