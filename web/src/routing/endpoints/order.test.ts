import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Ranked, changesFor, placesOf, step } from './order.ts'

const at = (slug: string, priority: number, weight = 1): Ranked => ({ id: slug, slug, priority, weight })
const drawn = (places: readonly Ranked[][] | null) =>
  places?.map((sharing) => sharing.map(({ slug }) => slug).join('+'))

test('endpoints of one priority share a place, the heaviest first', () => {
  assert.deepEqual(drawn(placesOf([at('c', 7), at('a', 0), at('b', 0, 3)])), ['b+a', 'c'])
})

test('a step up leads out of a shared place, then into the one above', () => {
  const places = placesOf([at('a', 0), at('b', 1), at('c', 1)])
  const out = step(places, 'c', 'up')!
  assert.deepEqual(drawn(out), ['a', 'c', 'b'])
  assert.deepEqual(drawn(step(out, 'c', 'up')), ['a+c', 'b'])
  assert.equal(step(out, 'a', 'up'), null)
})

test('a step down is the way back, and ends at the last place', () => {
  const places = placesOf([at('a', 0), at('b', 1)])
  const joined = step(places, 'a', 'down')!
  assert.deepEqual(drawn(joined), ['b+a'])
  assert.deepEqual(drawn(step(joined, 'a', 'down')), ['b', 'a'])
  assert.equal(step(places, 'b', 'down'), null)
  assert.equal(step(places, 'unknown', 'down'), null)
})

test('only what moved is written', () => {
  const places = placesOf([at('a', 0), at('b', 1), at('c', 2)])
  assert.deepEqual(changesFor(places), [])
  assert.deepEqual(changesFor(step(places, 'b', 'up')!), [
    { id: 'b', priority: 0 },
    { id: 'c', priority: 1 },
  ])
})
