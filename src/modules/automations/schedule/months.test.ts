// Slow: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { liveThrough } from '#test/automations/months.ts'

test('over nine days with clock changes, downtime, edits and a clock set back, every tick has exactly one row', async (t) => {
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
