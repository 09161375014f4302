import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusal } from '../../wire/translating.test.ts'
import { guardPrice } from './price-guard.ts'
import { offerOf } from '../../model/offer-of.test.ts'

test('a tool whose type is no word is none of OpenRouter’s', () => {
  const { endpoint } = offerOf({ endpoint: { preset: 'openrouter', billing: 'credits' } })
  const tried = (type: unknown) => refusal(() => guardPrice({ tools: [null, { type }] }, '', endpoint))
  assert.deepEqual(tried('openrouter:web_search'), ['invalid_parameter', 'tools'])
  assert.equal(tried({ toString: 1 }), null)
  assert.equal(tried(undefined), null)
})
