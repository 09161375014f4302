import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Payer } from '#infra/ledger/ledger.ts'
import { inputBound } from './metering.ts'

// Only the payer's cap is read here.
const cappedPayer = { key: { cap: 1n } } as unknown as Payer
const boundOf = (json: Record<string, unknown>) => inputBound({ model: 'm', ...json }, cappedPayer, 100_000)

test('input that the request doesn’t show counts as the model’s full context', () => {
  assert.ok(boundOf({ input: 'hi' }) < 200)
  const hiddenInputs = [
    { previous_response_id: 'resp_1' },
    { conversation: 'conv_1' },
    { conversation: { id: 'conv_1' } },
    { prompt: { id: 'pmpt_1' } },
    { input: [{ type: 'item_reference', id: 'msg_1' }] },
    { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] },
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/a.png' }] }] },
  ]
  for (const json of hiddenInputs) assert.equal(boundOf(json), 100_000, JSON.stringify(json))
  assert.ok(boundOf({ prompt: 'a bare prompt', previous_response_id: null, conversation: null }) < 200)
})

test('token numbers count as tokens', () => {
  assert.ok(boundOf({ input: Array(500).fill(7) }) >= 500)
  assert.ok(boundOf({ input: [Array(500).fill(7), Array(500).fill(7)] }) >= 1000)
})
