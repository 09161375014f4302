import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findProvider } from '@pydantic/genai-prices'
import { bareNamesOf, plainName, shippedCatalogue } from './catalogue.ts'
import { type MediaKind, isMediaKind } from './media.ts'
import { priceOfOne } from './price-of-one.ts'
import { condense } from '../../../tools/catalogue/condense.ts'
import { nanoPerMillion, pricesFor, type Prices } from './model.ts'

const { models, sources, find } = shippedCatalogue()
const candidatesForBareName = (name: string) => models.filter((model) => bareNamesOf(model).has(plainName(name)))

const buckets = [
  'input',
  'output',
  'reasoning',
  'cache_read',
  'cache_write_5m',
  'cache_write_1h',
  'image',
  'audio_input',
  'audio_output',
  'request',
  'pixel',
  'image_input',
  'image_output',
  'audio_second',
  'video_second',
  'character',
]
const pricedModels = models.flatMap((model) => (model.pricing ? [{ ...model, pricing: model.pricing }] : []))

test('the snapshot matches what the sources produce', () => {
  assert.deepEqual({ sources, models }, condense())
})

test('every model has one slug, made of its provider and its upstream name', () => {
  assert.equal(new Set(models.map((model) => model.slug)).size, models.length)
  for (const model of models) assert.equal(model.slug, `${model.provider}/${model.upstream_model}`)
})

test('a price names its source and date, and unpriced models name neither', () => {
  const sourceDates = new Map(sources.map(({ name, version, date }) => [`${name}@${version}`, date]))
  for (const { slug, pricing, price_source, price_date } of models)
    if (pricing) assert.equal(price_date, sourceDates.get(price_source ?? ''), slug)
    else assert.deepEqual([price_source, price_date], [null, null], slug)
})

test('prices are exact, not negative, and in disjoint buckets', () => {
  for (const { slug, pricing } of pricedModels) {
    const { tiers = [], variants = [], audio_unit: unit, ...base } = pricing
    for (const [bucket, price] of [base, ...tiers, ...variants].flatMap((prices) => Object.entries(prices))) {
      if (bucket === 'above_input_tokens' || bucket === 'when') continue
      assert.ok(buckets.includes(bucket), `${slug}: ${bucket} is no bucket`)
      assert.ok(nanoPerMillion(price) >= 0n, slug)
    }
    assert.equal(unit !== undefined, 'audio_input' in base || 'audio_output' in base, slug)
  }
})

test('tiers ascend, cost no less than lower ones, and price the same buckets', () => {
  for (const { slug, pricing } of pricedModels) {
    let below: Prices = pricing
    let threshold = 0
    for (const { above_input_tokens: above, ...tier } of pricing.tiers ?? []) {
      assert.ok(above > threshold, slug)
      assert.ok(nanoPerMillion(tier.input) >= nanoPerMillion(below.input), slug)
      for (const bucket of buckets) assert.equal(bucket in tier, bucket in pricing, `${slug}: ${bucket}`)
      below = tier
      threshold = above
    }
  }
})

test('only models named free, or without such units, cost zero', () => {
  for (const { slug, kind, pricing } of pricedModels)
    if (kind === 'text' && !slug.endsWith(':free'))
      for (const price of [pricing.input, pricing.output]) assert.ok(nanoPerMillion(price) > 0n, slug)
})

test('media models are priced by their units, and no image costs as much as text', () => {
  const media = pricedModels.filter(({ kind }) => isMediaKind(kind))
  const unit = (slug: string) => {
    const { kind, pricing } = find(slug)!
    return priceOfOne(kind as MediaKind, pricing)
  }
  assert.deepEqual(
    [
      'google/imagen-4.0-generate-001',
      'google/veo-3.1-lite-generate-preview',
      'elevenlabs/eleven_v3',
      'deepgram/nova-3',
    ].map(unit),
    [0.04, 0.05, 0.00018, 0.00007167],
  )
  assert.deepEqual(find('google/veo-3.1-lite-generate-preview')!.pricing!.variants, [
    { when: { resolution: '1080p' }, video_second: '80000' },
  ])
  assert.equal(unit('google/veo-3.1-generate-preview'), 0.4)
  assert.equal(find('google/veo-3.1-generate-preview')!.pricing!.video_second, undefined, 'that of 4k is in no source')
  for (const { slug, kind, pricing } of media) {
    const { image_output: imageOutput, output } = pricing
    const tokens =
      kind === 'image' ? Number(imageOutput ?? (slug.includes('/gpt-image-') ? output : 0)) : Number(output)
    assert.ok(tokens > 0 || priceOfOne(kind as MediaKind, pricing) !== null, slug)
  }
  for (const { slug, kind, media: can } of models) if (can) assert.equal(can.kind, kind, slug)
  const kinds = (pattern: RegExp) => new Set(models.filter(({ slug }) => pattern.test(slug)).map(({ kind }) => kind))
  assert.deepEqual(kinds(/whisper|-transcribe/), new Set(['transcription']))
  assert.deepEqual(kinds(/-tts(-|$)/), new Set(['speech']))
})

test('cache reads cost no more than input, one-hour writes no less than five-minute ones', () => {
  for (const {
    slug,
    pricing: { input, cache_read: cacheRead, cache_write_5m: short, cache_write_1h: long },
  } of pricedModels) {
    if (cacheRead) assert.ok(nanoPerMillion(cacheRead) <= nanoPerMillion(input), slug)
    if (long) assert.ok(short && nanoPerMillion(long) >= nanoPerMillion(short), slug)
  }
})

test('the two sources agree on Anthropic’s one-hour cache writes', () => {
  const comparedModels = (findProvider({ providerId: 'anthropic' })?.models ?? []).filter(({ id, prices }) => {
    const ours = find(`anthropic/${id}`)?.pricing
    const theirs = Array.isArray(prices) ? undefined : prices.cache_write_1h_mtok
    if (!ours || typeof theirs !== 'number') return false
    assert.equal(ours.cache_write_1h, String(theirs), id)
    return true
  })
  assert.ok(comparedModels.length >= 8)
})

test('a long prompt is charged at the price of its tier', () => {
  const pricing = find('openai/gpt-6.1-sol')?.pricing
  const tier = pricing?.tiers?.[0]
  assert.ok(pricing && tier)
  assert.equal(pricesFor(pricing, tier.above_input_tokens), pricing)
  assert.equal(pricesFor(pricing, tier.above_input_tokens + 1), tier)
})

test('OpenAI context windows are the published ones, not truncated at the long-context price', () => {
  for (const { slug, context_length, pricing } of pricedModels)
    if (slug.startsWith('openai/'))
      for (const tier of pricing.tiers ?? []) assert.ok((context_length ?? 0) > tier.above_input_tokens, slug)
})

test('a bare name finds the vendor first, then all resellers', () => {
  const slugs = candidatesForBareName('claude-sonnet-5').map((model) => model.slug)
  assert.equal(slugs[0], 'anthropic/claude-sonnet-5')
  for (const slug of ['bedrock/eu.anthropic.claude-sonnet-5', 'openrouter/anthropic/claude-sonnet-5'])
    assert.ok(slugs.includes(slug))
  const older = candidatesForBareName('claude-haiku-4-5').map((model) => model.slug)
  for (const slug of ['bedrock/anthropic.claude-haiku-4-5-20251001-v1:0', 'openrouter/anthropic/claude-haiku-4.5'])
    assert.ok(older.includes(slug))
  assert.deepEqual(candidatesForBareName('no-such-model'), [])
})

test('prices become nano-dollars without rounding', () => {
  assert.equal(nanoPerMillion('2.5'), 2_500_000_000n)
  assert.equal(nanoPerMillion('0.000000001'), 1n)
  for (const price of ['-1', '1e-7', '0.0000000001', '']) assert.throws(() => nanoPerMillion(price), RangeError)
})

test('models without a rating or date in any source have none', () => {
  for (const model of models)
    assert.deepEqual([model.capability_index, model.capability_index_source, model.released_at], [null, null, null])
})
