// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Write } from '../../outside/cut.ts'
import { playKilled, prepareScene } from './run-kills.ts'

/** The place where a server dies: the first write to these after one to those, before or when it is durable. */
const deaths = [
  { to: 'runs+steps+messages', fate: 'before', what: 'a turn of its model is about to be kept' },
  {
    to: 'resources+chats+outbox',
    fate: 'after',
    what: 'a tool has done what may not be done twice, and nobody knows',
    asked: 1,
  },
  { to: 'goals+steps+outbox', fate: 'before', what: 'its judge has spoken, and nobody has heard it' },
  { to: 'settle_batch', fate: 'after', what: 'its model has been paid, and nobody has its answer', beside: true },
] as const

test('a goal survives a server crash at any write: another server finishes it, and nothing is lost, repeated or paid twice', async (t) => {
  await using scene = await prepareScene()
  await Promise.all(
    deaths.map(async ({ to, fate, what, ...more }) => {
      let over = false
      const fateOf = (write: Write) => {
        if (over || write.to !== to) return 'pass'
        over = true
        return fate
      }
      const played = await playKilled(scene, fateOf, { beside: 'beside' in more })
      t.diagnostic(`${what}: ${played.seconds.toFixed(1)} s`)
      // Beside another server it may have been that one's to do.
      if (!('beside' in more)) assert.equal(played.killedAt?.to, to, what)
      if ('asked' in more) assert.equal(played.asked, more.asked, what)
    }),
  )
})
