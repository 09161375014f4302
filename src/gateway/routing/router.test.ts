import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offerOf } from '../model/offer-of.test.ts'
import type { FaultKind } from '../model/canonical-request.ts'
import { Health } from './health.ts'
import { route } from './router.ts'

const never = { failing: () => null, aside: () => null, stats: () => null }
const slugs = ({ candidates }: ReturnType<typeof route>): string[] => candidates.map(({ offer }) => offer.endpoint.slug)
const pricedOffer = (slug: string, usd: string, more: Record<string, unknown> = {}) =>
  offerOf({ pricing: { input: usd, output: '0' }, endpoint: { slug, ...more } })

test("the caller's own endpoint is tried before credits, and a lower priority number before a higher", () => {
  const offers = [
    pricedOffer('late', '1', { priority: 5 }),
    pricedOffer('early', '9', { priority: 1 }),
    pricedOffer('mine', '99', { billing: 'byok', priority: 9 }),
  ]
  for (let seed = 0; seed < 50; seed++)
    assert.deepEqual(slugs(route(offers, { seed }, never)), ['mine', 'early', 'late'])
})

test('equals share calls by weight over price squared', () => {
  const offers = [pricedOffer('cheap', '1'), pricedOffer('dear', '3')]
  let cheap = 0
  for (let seed = 0; seed < 10_000; seed++) if (slugs(route(offers, { seed }, never))[0] === 'cheap') cheap++
  assert.ok(Math.abs(cheap - 9_000) < 150, `${cheap} of 10000, 9:1 expected`)
  assert.deepEqual(
    route(offers, { seed: 1 }, never)
      .candidates.map(({ weight }) => weight.toFixed(6))
      .toSorted(),
    ['0.100000', '0.900000'],
  )

  const heavy = [pricedOffer('light', '2', { weight: 1 }), pricedOffer('heavy', '2', { weight: 3 })]
  let first = 0
  for (let seed = 0; seed < 10_000; seed++) if (slugs(route(heavy, { seed }, never))[0] === 'heavy') first++
  assert.ok(Math.abs(first - 7_500) < 200, `${first} of 10000, 3:1 expected`)
})

test('the same seed gives the same order, for any order of the offers', () => {
  const offers = ['a', 'b', 'c', 'd'].map((slug) => pricedOffer(slug, '1'))
  const orders = new Set<string>()
  for (let seed = 0; seed < 200; seed++) {
    const order = slugs(route(offers, { seed }, never))
    assert.deepEqual(slugs(route(offers.toReversed(), { seed }, never)), order)
    orders.add(order.join(''))
  }
  assert.ok(orders.size > 15, 'many seeds, many orders')
})

test('an offline computer is tried last in any case, and isn’t penalized for being offline', () => {
  const dispatch = (): void => {}
  const offers = [
    pricedOffer('gone', '0', { billing: 'free', dispatch, away: true }),
    pricedOffer('dear', '9'),
    pricedOffer('there', '9', { billing: 'byok', priority: 5 }),
  ]
  const health = new Health()
  for (let seed = 0; seed < 50; seed++) {
    const { candidates } = route(offers, { seed, order: ['gone'] }, health)
    assert.deepEqual(
      candidates.map(({ offer }) => offer.endpoint.slug),
      ['there', 'dear', 'gone'],
    )
    assert.match(candidates[2]!.reason, /isn’t connected/)
  }
  const back = pricedOffer('gone', '0', { billing: 'free', dispatch })
  health.failed(back, { kind: 'overloaded', message: 'The computer is not connected.', lasts: true })
  assert.equal(health.aside(back), null)
  health.failed(back, { kind: 'overloaded', message: 'It is busy.' })
  assert.equal(health.aside(back)?.kind, 'overloaded')
})

test('a failed provider is tried last while its fault lasts, then normally again', () => {
  const health = new Health()
  const offers = [pricedOffer('a', '1', { priority: 1 }), pricedOffer('b', '1', { priority: 2 })]
  const [a] = offers
  const at = (now: number) =>
    slugs(route(offers, { seed: 1 }, { ...never, aside: (offer) => health.aside(offer, now) }))
  const until = (kind: FaultKind, seconds?: number) => {
    health.failed(a!, { kind, message: '', ...(seconds !== undefined && { retry_after_seconds: seconds }) }, 0)
    let ms = 0
    while (at(ms)[0] === 'b') ms += 1_000
    return ms / 1_000
  }
  assert.deepEqual(
    [
      until('server_error'),
      until('rate_limited', 7),
      until('upstream_key'),
      until('bad_request'),
      until('context_length'),
    ],
    [30, 7, 300, 300, 300],
    'a request that is at fault adds nothing to what was',
  )
  health.succeeded(a!, 10, 20, 5, 1_000)
  assert.equal(at(1_001)[0], 'a')
  assert.equal(until('bad_request'), 0)
  assert.equal(until('rate_limited', 86_400), 900, 'nobody is set aside for a day')
})

test('a rejected key affects everything the endpoint serves; an overloaded model only itself', () => {
  const health = new Health()
  const one = offerOf({ endpoint: { slug: 'a' }, upstreamModel: 'one' })
  const two = { ...one, upstreamModel: 'two' }
  health.failed(one, { kind: 'overloaded', message: '' }, 0)
  assert.deepEqual([health.aside(one, 1)?.kind, health.aside(two, 1)], ['overloaded', null])
  health.failed(one, { kind: 'upstream_key', message: '' }, 0)
  assert.equal(health.aside(two, 1)?.kind, 'upstream_key')
  // The endpoint is reloaded: new objects for the same thing.
  assert.equal(health.aside({ ...one }, 1)?.kind, 'overloaded')
})

test('offers that can’t serve are skipped with a reason', () => {
  const offers = [
    pricedOffer('other', '1', { shape: 'gemini' }),
    offerOf({ endpoint: { slug: 'small' }, contextLength: 100 }),
    offerOf({ endpoint: { slug: 'terse' }, maxOutputTokens: 10 }),
    offerOf({ endpoint: { slug: 'dumb' }, capabilities: ['reasoning'] }),
    offerOf({ endpoint: { slug: 'unknown' } }),
    offerOf({ endpoint: { slug: 'unwanted' } }),
  ]
  const { candidates, excluded: exclusions } = route(
    offers,
    {
      seed: 1,
      serves: ({ endpoint }) => endpoint.shape === 'openai-chat',
      needs: ['tools'],
      inputTokens: 101,
      maxTokens: 11,
      ignore: ['unwanted'],
    },
    never,
  )
  assert.deepEqual(
    candidates.map(({ offer }) => offer.endpoint.slug),
    ['unknown'],
  )
  assert.deepEqual(
    exclusions.map(({ offer, reason }) => [offer.endpoint.slug, reason]),
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

test('the only offer is tried despite outdated data about it', () => {
  assert.equal(
    route([offerOf({ contextLength: 5, capabilities: ['x'] })], { seed: 1, inputTokens: 9, needs: ['tools'] }, never)
      .candidates.length,
    1,
  )
})
