import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '#kernel/errors.ts'
import { readBody } from '../../body.ts'
import { compatAResponses } from './responses.ts'

const foreign = (json: object, billing: 'byok' | 'credits' = 'byok') =>
  compatAResponses.foreign(readBody(Buffer.from(JSON.stringify({ model: 'm', input: 'x', ...json }))), billing)

test('what others may have stored in a shared account is out of reach, and in one’s own it is not', () => {
  const stored = [
    { previous_response_id: 'resp_1' },
    { conversation: { id: 'conv_1' } },
    { prompt: { id: 'pmpt_1' } },
    { input: [{ type: 'item_reference', id: 'msg_1' }] },
  ]
  for (const json of stored) {
    assert.equal(foreign(json), false)
    assert.equal(foreign(json, 'credits'), true)
    assert.throws(() => compatAResponses.decode({ model: 'm', input: 'x', ...json }, {}), Refusal)
  }
  assert.equal(foreign({ previous_response_id: null }, 'credits'), false)
})

test('work in the background is refused whoever would pay, and what is sealed here is opened here', () => {
  assert.equal(foreign({ background: true }), true)
  assert.throws(() => compatAResponses.decode({ model: 'm', input: 'x', background: true }, {}), Refusal)
  assert.equal(foreign({ background: false }), false)
  assert.equal(foreign({ input: [{ type: 'reasoning', summary: [], encrypted_content: 'uk1.e30' }] }), true)
})
