import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { readBody } from '../../model/body.ts'
import { compatAResponses } from './responses.ts'

const foreign = (json: object) =>
  compatAResponses.foreign(readBody(Buffer.from(JSON.stringify({ model: 'm', input: 'x', ...json }))))

test('background mode is refused for every payer, and envelopes are opened here', () => {
  assert.equal(foreign({ background: true }), true)
  assert.throws(() => compatAResponses.decode({ model: 'm', input: 'x', background: true }, {}), Refusal)
  assert.equal(foreign({ background: false }), false)
  assert.equal(foreign({ input: [{ type: 'reasoning', summary: [], encrypted_content: 'uk1.e30' }] }), true)
})
