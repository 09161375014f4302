import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Billing } from '#core/usage.ts'
import { refusal } from '../../wire/translating.test.ts'
import { guardPrice } from './price-guard.ts'
import type { Shape } from '../../model/offer.ts'
import { offerOf } from '../../model/offer-of.test.ts'

const reading = (body: Record<string, unknown>) => (name: string) => body[name]

test('a tool whose type is not a word is not one of OpenRouter’s', () => {
  const { endpoint } = offerOf({ endpoint: { preset: 'openrouter', billing: 'credits' } })
  const tried = (type: unknown) => refusal(() => guardPrice(reading({ tools: [null, { type }] }), '', endpoint))
  assert.deepEqual(tried('openrouter:web_search'), ['invalid_parameter', 'tools'])
  assert.equal(tried({ toString: 1 }), null)
  assert.equal(tried(undefined), null)
})

test('under a balance or a cap, each provider takes the words that its own sources price, and no other vendor’s', () => {
  const words = [
    'auto',
    'default',
    'flex',
    'standard',
    'standard_only',
    'on_demand',
    'scale',
    'priority',
    'fast',
    'ultrafast',
  ]
  const taken = (shape: Shape, preset: string | null, billing: Billing = 'credits') => {
    const { endpoint } = offerOf({ endpoint: { preset, shape, billing } })
    return words.filter((word) => refusal(() => guardPrice(reading({ service_tier: word }), '', endpoint)) === null)
  }
  const openai = ['auto', 'default', 'flex']
  for (const preset of ['openai', 'azure', 'groq', 'openrouter', null])
    assert.deepEqual(taken('openai-chat', preset), openai)
  assert.deepEqual(taken('openai-responses', 'openai'), openai)
  for (const preset of ['anthropic', 'bedrock', null])
    assert.deepEqual(taken('anthropic-messages', preset), ['auto', 'standard_only'])
  assert.deepEqual(taken('openai-chat', 'openai', 'byok'), openai)
  assert.deepEqual(taken('openai-chat', 'openai', 'free'), words, 'what costs nothing costs nothing by any word')
  const { endpoint } = offerOf({ endpoint: { preset: null, shape: 'openai-chat', billing: 'credits' } })
  for (const dear of [
    { speed: 'fast' },
    { inference_geo: 'us' },
    { service_tier: {} },
    { service_tier: 'constructor' },
  ])
    assert.deepEqual(
      refusal(() => guardPrice(reading(dear), '', endpoint)),
      ['invalid_parameter', Object.keys(dear)[0]],
    )
})
