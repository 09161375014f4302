import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Ranked, changesFor, moved, placesOf, step } from './order.ts'

const at = (slug: string, priority: number, weight = 1): Ranked => ({ id: slug, slug, priority, weight })
const drawn = (places: readonly Ranked[][] | null) =>
  places?.map((sharing) => sharing.map(({ slug }) => slug).join('+'))

test('endpoints with the same priority share a place, highest weight first', () => {
  assert.deepEqual(drawn(placesOf([at('c', 7), at('a', 0), at('b', 0, 3)])), ['b+a', 'c'])
})

test('moving up leaves a shared place first, then joins the one above', () => {
  const places = placesOf([at('a', 0), at('b', 1), at('c', 1)])
  const out = step(places, 'c', 'up')!
  assert.deepEqual(drawn(out), ['a', 'c', 'b'])
  assert.deepEqual(drawn(step(out, 'c', 'up')), ['a+c', 'b'])
  assert.equal(step(out, 'a', 'up'), null)
})

test('moving down reverses it and stops at the last place', () => {
  const places = placesOf([at('a', 0), at('b', 1)])
  const joined = step(places, 'a', 'down')!
  assert.deepEqual(drawn(joined), ['b+a'])
  assert.deepEqual(drawn(step(joined, 'a', 'down')), ['b', 'a'])
  assert.equal(step(places, 'b', 'down'), null)
  assert.equal(step(places, 'unknown', 'down'), null)
})

test('dropping on a place shares it, dropping next to it adds a new place, and dropping on its own place changes nothing', () => {
  const places = placesOf([at('a', 0), at('b', 1), at('c', 2), at('d', 2)])
  assert.deepEqual(drawn(moved(places, 'a', 1, 'into')), ['b+a', 'c+d'])
  assert.deepEqual(drawn(moved(places, 'a', 2, 'after')), ['b', 'c+d', 'a'])
  assert.deepEqual(drawn(moved(places, 'd', 0, 'before')), ['d', 'a', 'b', 'c'])
  assert.deepEqual(drawn(moved(places, 'c', 2, 'after')), ['a', 'b', 'd', 'c'])
  for (const [id, to, where] of [
    ['a', 0, 'into'],
    ['b', 0, 'after'],
    ['b', 1, 'before'],
    ['x', 1, 'into'],
  ] as const)
    assert.equal(moved(places, id, to, where), null)
})

test('only moved endpoints are written', () => {
  const places = placesOf([at('a', 0), at('b', 1), at('c', 2)])
  assert.deepEqual(changesFor(places), [])
  assert.deepEqual(changesFor(step(places, 'b', 'up')!), [
    { id: 'b', priority: 0 },
    { id: 'c', priority: 1 },
  ])
})
