import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fate } from '../../outside/cut.ts'
import { playKilled, prepareScene } from './run-kills.ts'

const AT_ONCE = 3

test('an agent’s goal survives a server crash before and after every write, with one server and with two', async (t) => {
  await using scene = await prepareScene()
  const { passed } = await playKilled(scene, () => 'pass')
  const plays = passed.flatMap(({ n }) => [
    { n, fate: 'before' as const, beside: false },
    { n, fate: 'after' as const, beside: false },
    ...(n % 4 === 0 ? [{ n, fate: 'after' as const, beside: true }] : []),
  ])
  let killed = 0
  let asked = 0
  let slowest = 0
  const work = async (): Promise<void> => {
    for (let play = plays.shift(); play !== undefined; play = plays.shift()) {
      const { n, fate, beside } = play
      const fateOf = (write: { n: number }): Fate => (write.n === n ? fate : 'pass')
      const played = await playKilled(scene, fateOf, { beside }).catch((cause: unknown) => {
        throw new Error(`killed ${fate} write ${n}${beside ? ', beside another' : ''}`, { cause })
      })
      if (played.killedAt !== null) killed += 1
      asked += played.asked
      slowest = Math.max(slowest, played.seconds)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  t.diagnostic(JSON.stringify({ writes: passed.length, killed, asked, slowest }))
  assert.ok(killed > passed.length)
  assert.ok(asked > 0)
})
