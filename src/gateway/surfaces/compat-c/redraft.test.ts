import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { redraft } from './redraft.ts'

const about = {
  id: 'ID',
  model: 'acme/möbius',
  created: 1,
  provider: 'acme',
  billing: 'byok' as const,
  request: {},
  costOf: () => 0.5,
}
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

test('only id, model, provider, the native finish reason, absent `logprobs`, and the cost differ, whatever the content', () => {
  const words = fc.array(
    fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('"id":"x"', '"finish_reason":"stop"', '"usage":{', 'data: {"id":"y"}'),
    ),
  )
  const text = (json: object, isSpaced: boolean) =>
    isSpaced ? JSON.stringify(json).replace('"id":', '"id": ').replace('"model":', '"model": ') : JSON.stringify(json)
  fc.assert(
    fc.property(words, fc.boolean(), fc.boolean(), fc.boolean(), (content, first, isSpaced, crlf) => {
      const chunk = (delta: object, more: object) => ({
        ...(first && { id: 'up' }),
        object: 'chat.completion.chunk',
        created: 1,
        model: 'up',
        choices: [{ index: 0, delta, finish_reason: null }],
        ...(!first && { id: 'up' }),
        ...more,
      })
      const chunks = [
        ...content.map((content) =>
          chunk({ content, tool_calls: [{ id: 'call_1', function: { arguments: content } }] }, {}),
        ),
        chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null }),
        chunk({}, { choices: [], usage }),
      ]
      const end = crlf ? '\r\n\r\n' : '\n\n'
      const stream =
        [': hold on', ...chunks.map((one) => `data: ${text(one, isSpaced)}`), 'data: [DONE]'].join(end) + end
      const out = redraft(about).events(Buffer.from(stream)).toString()
      const events = out
        .split(end)
        .flatMap((event) => (event.startsWith('data: {') ? [JSON.parse(event.slice(6))] : []))
      assert.equal(events.length, chunks.length)
      assert.ok(out.startsWith(`: hold on${end}`) && out.endsWith(`data: [DONE]${end}`))
      for (const [i, one] of events.entries()) {
        const before = JSON.parse(JSON.stringify(chunks[i]))
        assert.deepEqual([one.id, one.model, one.provider], ['gen-ID', 'acme/möbius', 'acme'])
        assert.deepEqual(
          one.choices.map(({ native_finish_reason: native, logprobs, ...choice }: Record<string, unknown>) => {
            assert.deepEqual([native, logprobs], [choice['finish_reason'], null])
            return choice
          }),
          before.choices,
        )
      }
      assert.deepEqual(events.at(-1).usage, {
        ...usage,
        cost: 0.5,
        is_byok: true,
        cost_details: {
          upstream_inference_cost: 0.5,
          upstream_inference_prompt_cost: 0.5,
          upstream_inference_completions_cost: 0,
        },
      })
    }),
    { numRuns: 150 },
  )
})

test('a whole answer keeps every other byte, including numbers that don’t fit a double', () => {
  const body =
    '{"choices":[{"message":{"content":"\\u00e9 \\"finish_reason\\":\\"x\\""},"finish_reason":"stop"}],"big":12345678901234567890,"id":"u","usage":{"prompt_tokens":1}}'
  const out = redraft(about).whole!(Buffer.from(body)).toString()
  assert.match(out, /"big":12345678901234567890/)
  assert.match(
    out,
    /\\u00e9 \\"finish_reason\\":\\"x\\""\},"finish_reason":"stop","native_finish_reason":"stop","logprobs":null/,
  )
  assert.match(out, /"message":\{"refusal":null,"content"/)
  const json = JSON.parse(out)
  assert.deepEqual([json.id, json.provider, json.usage.cost], ['gen-ID', 'acme', 0.5])
})
