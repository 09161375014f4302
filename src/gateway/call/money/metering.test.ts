import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Payer } from '#infra/ledger/ledger.ts'
import { inputBound } from './metering.ts'

// Of a payer only what caps it is looked at.
const capped = { key: { cap: 1n } } as unknown as Payer
const bound = (json: Record<string, unknown>) => inputBound({ model: 'm', ...json }, capped, 100_000)

test('input that the request does not show counts as all that the model takes', () => {
  assert.ok(bound({ input: 'hi' }) < 200)
  const hidden = [
    { previous_response_id: 'resp_1' },
    { conversation: 'conv_1' },
    { conversation: { id: 'conv_1' } },
    { prompt: { id: 'pmpt_1' } },
    { input: [{ type: 'item_reference', id: 'msg_1' }] },
    { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] },
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/a.png' }] }] },
  ]
  for (const json of hidden) assert.equal(bound(json), 100_000, JSON.stringify(json))
  assert.ok(bound({ prompt: 'a bare prompt', previous_response_id: null, conversation: null }) < 200)
})

test('numbers of tokens count as tokens', () => {
  assert.ok(bound({ input: Array(500).fill(7) }) >= 500)
  assert.ok(bound({ input: [Array(500).fill(7), Array(500).fill(7)] }) >= 1000)
})
