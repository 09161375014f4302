import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offerOf } from './offer-of.test.ts'
import { Failures, route } from './router.ts'

const never = () => false
const slugs = ({ candidates }: ReturnType<typeof route>): string[] => candidates.map(({ offer }) => offer.endpoint.slug)
const priced = (slug: string, usd: string, more: Record<string, unknown> = {}) =>
  offerOf({ pricing: { input: usd, output: '0' }, endpoint: { slug, ...more } })

test("the caller's own endpoint is asked before credits, and a lower priority number before a higher", () => {
  const offers = [
    priced('late', '1', { priority: 5 }),
    priced('early', '9', { priority: 1 }),
    priced('mine', '99', { billing: 'byok', priority: 9 }),
  ]
  for (let seed = 0; seed < 50; seed++)
    assert.deepEqual(slugs(route(offers, { seed }, never)), ['mine', 'early', 'late'])
})

test('equals share the calls by weight over price squared', () => {
  const offers = [priced('cheap', '1'), priced('dear', '3')]
  let cheap = 0
  for (let seed = 0; seed < 10_000; seed++) if (slugs(route(offers, { seed }, never))[0] === 'cheap') cheap++
  assert.ok(Math.abs(cheap - 9_000) < 150, `${cheap} of 10000, 9:1 expected`)
  assert.deepEqual(
    route(offers, { seed: 1 }, never)
      .candidates.map(({ weight }) => weight.toFixed(6))
      .toSorted(),
    ['0.100000', '0.900000'],
  )

  const heavy = [priced('light', '2', { weight: 1 }), priced('heavy', '2', { weight: 3 })]
  let first = 0
  for (let seed = 0; seed < 10_000; seed++) if (slugs(route(heavy, { seed }, never))[0] === 'heavy') first++
  assert.ok(Math.abs(first - 7_500) < 200, `${first} of 10000, 3:1 expected`)
})

test('the same seed draws the same order, whatever order the offers come in', () => {
  const offers = ['a', 'b', 'c', 'd'].map((slug) => priced(slug, '1'))
  const seen = new Set<string>()
  for (let seed = 0; seed < 200; seed++) {
    const order = slugs(route(offers, { seed }, never))
    assert.deepEqual(slugs(route(offers.toReversed(), { seed }, never)), order)
    seen.add(order.join(''))
  }
  assert.ok(seen.size > 15, 'many seeds, many orders')
})

test('what failed in the last 30 seconds is asked last, then it is as good as before', () => {
  const failures = new Failures()
  const offers = [priced('a', '1', { priority: 1 }), priced('b', '1', { priority: 2 })]
  failures.note(offers[0]!, 1_000)
  const at = (now: number) => slugs(route(offers, { seed: 1 }, (offer) => failures.recent(offer, now)))
  assert.deepEqual(at(30_999), ['b', 'a'])
  assert.deepEqual(at(31_000), ['a', 'b'])
  failures.note(offers[0]!, 40_000)
  failures.forget(offers[0]!)
  assert.deepEqual(at(40_001), ['a', 'b'])
})

test('offers that cannot serve are left out and say why', () => {
  const offers = [
    priced('other', '1', { shape: 'gemini' }),
    offerOf({ endpoint: { slug: 'small' }, contextLength: 100 }),
    offerOf({ endpoint: { slug: 'terse' }, maxOutputTokens: 10 }),
    offerOf({ endpoint: { slug: 'dumb' }, capabilities: ['reasoning'] }),
    offerOf({ endpoint: { slug: 'unknown' } }),
    offerOf({ endpoint: { slug: 'unwanted' } }),
  ]
  const { candidates, excluded } = route(
    offers,
    { seed: 1, shapes: ['openai-chat'], needs: ['tools'], inputTokens: 101, maxTokens: 11, ignore: ['unwanted'] },
    never,
  )
  assert.deepEqual(
    candidates.map(({ offer }) => offer.endpoint.slug),
    ['unknown'],
  )
  assert.deepEqual(
    excluded.map(({ offer, reason }) => [offer.endpoint.slug, reason]),
    [
      ['other', 'shape'],
      ['small', 'context'],
      ['terse', 'max_tokens'],
      ['dumb', 'capability'],
      ['unwanted', 'ignore'],
    ],
  )
  assert.deepEqual(slugs(route(offers, { seed: 1, only: ['small', 'dumb'] }, never)).toSorted(), ['dumb', 'small'])
})

test('the only offer is asked whatever old data says that it cannot do', () => {
  assert.equal(
    route([offerOf({ contextLength: 5, capabilities: ['x'] })], { seed: 1, inputTokens: 9, needs: ['tools'] }, never)
      .candidates.length,
    1,
  )
})
