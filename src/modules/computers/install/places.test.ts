import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createPlaces } from './places.ts'

function world(most: number) {
  let now = 0
  const places = createPlaces(most, () => now)
  const preempted: string[] = []
  return {
    left: preempted,
    pass: (ms: number) => void (now += ms),
    take: (name: string, network = name) => places.take(network, () => preempted.push(name)),
  }
}

test('stalled readers lose their places, active ones keep them', () => {
  const { take, pass, left: preempted } = world(4)
  const slow = ['s1', 's2', 's3'].map((name) => take(name, 'a')!)
  const fast = take('fast', 'a')!
  assert.equal(take('late', 'a'), null)
  for (let second = 0; second < 20; second += 1) {
    pass(1_000)
    fast.took(1 << 20)
    for (const one of slow) one.took(100)
  }
  for (const name of ['n1', 'n2', 'n3']) assert.notEqual(take(name, 'a'), null)
  assert.deepEqual(preempted, ['s1', 's2', 's3'])
  // The initial burst into the OS buffer doesn't count as reading.
  assert.equal(take('late', 'a'), null, 'the others are new, or read')
  fast[Symbol.dispose]()
  assert.notEqual(take('late', 'a'), null)
})

test('the number of places is never exceeded, and networks below their share always get one', () => {
  const step = fc.record({ network: fc.constantFrom('a', 'b', 'c', 'd'), ms: fc.nat(20_000), bytes: fc.nat(1 << 22) })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 60 }), (most, steps) => {
      let now = 0
      const places = createPlaces(most, () => now)
      const networks = new Map<number, string>()
      for (const [name, { network, ms, bytes }] of steps.entries()) {
        now += ms
        const counts = [...Map.groupBy(networks.values(), (of) => of)].map(([of, all]) => [of, all.length] as const)
        const own = counts.find(([of]) => of === network)?.[1] ?? 0
        const isPoor = counts.some(([, count]) => count > own + 1)
        const reader = places.take(network, () => void networks.delete(name))
        if (reader === null) assert.ok(networks.size === most && !isPoor)
        else {
          reader.took(bytes)
          networks.set(name, network)
        }
        assert.ok(networks.size <= most)
      }
    }),
  )
})
