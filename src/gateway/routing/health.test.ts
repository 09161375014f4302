import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usageOf } from '#core/usage.ts'
import { Health } from './health.ts'
import { offerOf } from '../model/offer-of.test.ts'
import { route } from './router.ts'
import { CacheAffinity, conversationOf } from './cache-affinity.ts'

test('speed and latency cover the last minutes, and the router sorts by them', () => {
  const health = new Health()
  const quick = offerOf({ endpoint: { slug: 'quick' } })
  const fluent = offerOf({ endpoint: { slug: 'fluent' } })
  const unknown = offerOf({ endpoint: { slug: 'unknown' } })
  for (let i = 1; i <= 100; i++) {
    health.succeeded(quick, 100 + i, 10_100, 100, i)
    health.succeeded(fluent, 900, 1_900, 100, i)
  }
  const stats = health.stats(quick, 200)!
  assert.equal(stats.latency(0.5), 169, 'of the last 64')
  assert.equal(Math.round(stats.throughput(0.5)!), 10)
  assert.equal(health.stats(quick, 400_000)!.latency(0.5), null, 'what is old tells nothing')
  const view = { failing: () => null, aside: () => null, stats: (offer: typeof quick) => health.stats(offer, 200) }
  const order = (constraints: object) =>
    route([unknown, quick, fluent], { seed: 1, ...constraints }, view).candidates.map(
      ({ offer }) => offer.endpoint.slug,
    )
  assert.deepEqual(order({ sort: 'latency' }), ['quick', 'fluent', 'unknown'])
  assert.deepEqual(order({ sort: 'throughput' }), ['fluent', 'quick', 'unknown'])
  assert.equal(
    order({ minThroughput: { p50: 50 } }).at(-1),
    'quick',
    'who is too slow goes behind who is not known to be',
  )
  assert.equal(order({ maxLatency: { p99: 0.5 } }).at(-1), 'fluent')
  for (let i = 0; i < 30; i++) health.failed(quick, { kind: 'server_error', message: '' }, 150)
  assert.equal(order({ sort: 'exacto' }).at(-1), 'quick')
})

test('a warm conversation is remembered as long as its cache lives, and kept apart from others', () => {
  const cacheAffinity = new CacheAffinity()
  const pricing = { input: '1', output: '1', cache_read: '0.1' }
  const offer = offerOf({ pricing })
  const usageWith = (more: object) => usageOf({ input_tokens: 1, ...more })
  cacheAffinity.note('a', offer, usageWith({}), 0)
  assert.equal(cacheAffinity.of('a', 1), null, 'nothing was cached')
  cacheAffinity.note('a', offer, usageWith({ cache_read_tokens: 5 }), 0)
  assert.deepEqual([cacheAffinity.of('a', 299_999), cacheAffinity.of('a', 300_000)], [offer.endpoint.id, null])
  cacheAffinity.note('a', offer, usageWith({ cache_write_1h_tokens: 5 }), 0)
  assert.equal(cacheAffinity.of('a', 3_599_999), offer.endpoint.id)
  cacheAffinity.note('b', offerOf({ pricing: { ...pricing, cache_read: '1' } }), usageWith({ cache_read_tokens: 5 }), 0)
  assert.equal(cacheAffinity.of('b', 1), null, 'a cache that saves nothing holds nobody')
  cacheAffinity.forget('a')
  assert.equal(cacheAffinity.of('a', 1), null)
  for (let i = 0; i < 20_001; i++) cacheAffinity.note(`n${i}`, offer, usageWith({ cache_read_tokens: 1 }), 0)
  assert.deepEqual(
    [cacheAffinity.of('n0', 1), cacheAffinity.of('n1', 1)],
    [null, offer.endpoint.id],
    'the oldest is forgotten',
  )

  const system = { role: 'system', content: 's' }
  const user = { role: 'user', content: 'u' }
  const key = (caller: string, messages: object[], more: object = {}) =>
    conversationOf(caller, { messages, ...more }, undefined)
  assert.equal(key('me', [system, user]), key('me', [system, user, { role: 'assistant', content: 'a' }]))
  const all = [
    key('me', [system, user]),
    key('you', [system, user]),
    key('me', [user]),
    key('me', [user], { session_id: 'x' }),
    key('me', [user], { prompt_cache_key: 'y' }),
  ]
  assert.equal(new Set(all).size, all.length)
})
