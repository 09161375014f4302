import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Billing } from '#core/usage.ts'
import { refusal } from '../../wire/translating.test.ts'
import { guardPrice } from './price-guard.ts'
import type { Shape } from '../../model/offer.ts'
import { offerOf } from '../../model/offer-of.test.ts'

const reading = (body: Record<string, unknown>) => (name: string) => body[name]

test('a tool whose type isn’t a string is not one of OpenRouter’s', () => {
  const { endpoint } = offerOf({ endpoint: { preset: 'openrouter', billing: 'credits' } })
  const refusalFor = (type: unknown) => refusal(() => guardPrice(reading({ tools: [null, { type }] }), '', endpoint))
  assert.deepEqual(refusalFor('openrouter:web_search'), ['invalid_parameter', 'tools'])
  assert.equal(refusalFor({ toString: 1 }), null)
  assert.equal(refusalFor(undefined), null)
})

test('under a balance or cap, each provider accepts the values that its own sources price, and no other vendor’s', () => {
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
  const acceptedFor = (shape: Shape, preset: string | null, billing: Billing = 'credits') => {
    const { endpoint } = offerOf({ endpoint: { preset, shape, billing } })
    return words.filter((word) => refusal(() => guardPrice(reading({ service_tier: word }), '', endpoint)) === null)
  }
  const openai = ['auto', 'default', 'flex']
  for (const preset of ['openai', 'azure', 'groq', 'openrouter', null])
    assert.deepEqual(acceptedFor('openai-chat', preset), openai)
  assert.deepEqual(acceptedFor('openai-responses', 'openai'), openai)
  for (const preset of ['anthropic', 'bedrock', null])
    assert.deepEqual(acceptedFor('anthropic-messages', preset), ['auto', 'standard_only'])
  assert.deepEqual(acceptedFor('openai-chat', 'openai', 'byok'), openai)
  assert.deepEqual(acceptedFor('openai-chat', 'openai', 'free'), words, 'what costs nothing costs nothing by any word')
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
