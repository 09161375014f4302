import assert from 'node:assert/strict'
import { reportedBy } from '../../providers/supports.ts'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { usageOf } from '#core/usage.ts'
import type { Pricing } from '../../catalogue/model.ts'
import { affordableOutput, costOf, exactCost, worstCost } from './cost.ts'
import { offerOf } from '../offer-of.test.ts'

const pricing: Pricing = {
  input: '1.25',
  output: '10',
  cache_read: '0.125',
  cache_write_5m: '1.5625',
  request: '0.005',
  tiers: [{ above_input_tokens: 1000, input: '2.5', output: '15' }],
}

test('every bucket is charged at its price, summed exactly and rounded once, half up', () => {
  const usage = usageOf({
    input_tokens: 3,
    cache_read_tokens: 5,
    cache_write_5m_tokens: 7,
    cache_write_1h_tokens: 2,
    output_tokens: 11,
    reasoning_tokens: 13,
  })
  // 3×1250 + 5×125 + 9×1562.5 (1h cache writes have no own price) + 24×10000 nano, plus 5,000,000 per request
  assert.deepEqual(costOf(usage, offerOf({ pricing }), undefined, null), { nano: 5_258_438n, source: 'computed' })
})

test('the price tier follows from the total input', () => {
  const at = (input: number, cacheReads: number) =>
    exactCost(usageOf({ input_tokens: input, cache_read_tokens: cacheReads, requests: 0 }), pricing)!.numerator
  assert.equal(at(1000, 0), 1000n * 1_250_000_000n)
  assert.equal(at(1, 1000), 1001n * 2_500_000_000n, 'the tier names no price for cache reads: they cost as input')
})

test('usage without a price costs null, and nothing if the endpoint is free', () => {
  const usage = usageOf({ input_tokens: 1 })
  assert.deepEqual(costOf(usage, offerOf({ pricing: null }), undefined, null), { nano: null, source: null })
  assert.deepEqual(costOf(usage, offerOf({ pricing: null, endpoint: { billing: 'free' } }), undefined, null), {
    nano: 0n,
    source: 'free',
  })
  assert.deepEqual(costOf(usageOf({ images: 1 }), offerOf({ pricing }), undefined, null), { nano: null, source: null })
})

test('a reported cost only counts for presets known to report it, and only if it is plausible', () => {
  const usage = usageOf({ input_tokens: 1_000_000 })
  const from = (preset: string | null, usd: number, reservation: bigint | null = null) => {
    const offer = offerOf({ pricing, endpoint: { preset } })
    return costOf(usage, offer, reportedBy(offer.endpoint, usd), reservation)
  }
  assert.deepEqual(from('openrouter', 0.0123), { nano: 12_300_000n, source: 'reported' })
  assert.deepEqual(from('openrouter', 0), { nano: 0n, source: 'reported' })
  for (const usd of [-1, NaN, Infinity, 1e300]) assert.equal(from('openrouter', usd).source, 'computed', String(usd))
  assert.equal(from('openrouter', 0.0123, 12_299_999n).source, 'computed', 'above what was reserved')
  assert.equal(from('openai', 0).source, 'computed')
  assert.equal(from(null, 0).source, 'computed')
})

test('the worst case is never below the cost, and the affordable output never exceeds the budget', () => {
  const count = fc.nat({ max: 5000 })
  fc.assert(
    fc.property(count, count, count, count, count, count, (input, cacheReads, write, writeLong, output, reasoning) => {
      const usage = usageOf({
        input_tokens: input,
        cache_read_tokens: cacheReads,
        cache_write_5m_tokens: write,
        cache_write_1h_tokens: writeLong,
        output_tokens: output,
        reasoning_tokens: reasoning,
      })
      const { nano } = costOf(usage, offerOf({ pricing }), undefined, null)
      const inputs = input + cacheReads + write + writeLong
      const worst = worstCost(pricing, inputs, output + reasoning, 1)
      assert.ok(nano! <= worst)
      const tokens = affordableOutput(pricing, worst, inputs, 1)
      assert.ok(tokens >= output + reasoning && worstCost(pricing, inputs, tokens, 1) <= worst)
    }),
  )
  assert.equal(affordableOutput(pricing, 1n, 10, 1), -1)
})
