import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyDraft, callOf } from './draft.ts'

test('empty fields are left out of the request', () => {
  assert.deepEqual(callOf({ ...emptyDraft, model: ' gpt-4o ' }), {
    model: 'gpt-4o',
    shape: 'openai-chat',
    input_tokens: null,
    max_tokens: null,
    tools: false,
    images: false,
    seed: null,
  })
})

test('text is parsed as lists and numbers, and invalid numbers are sent for the server to reject', () => {
  const call = callOf({
    ...emptyDraft,
    model: 'x',
    only: 'a, b',
    max_input_price: '2.5',
    private: true,
    seed: '7',
    max_tokens: 'many',
  })
  assert.deepEqual(call.provider, { only: ['a', 'b'], max_price: { prompt: 2.5 }, data_collection: 'deny' })
  assert.equal(call.seed, 7)
  assert.equal(call.max_tokens, 'many')
})
