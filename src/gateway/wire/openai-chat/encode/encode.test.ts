import assert from 'node:assert/strict'
import { providerOf } from '../../../providers/every-provider.ts'
import { test } from 'node:test'
import { decode as decodeMessages } from '../../anthropic-messages/decode/decode.ts'
import { encode as encodeMessages } from '../../anthropic-messages/encode/encode.ts'
import { sealSignature } from '../../anthropic-messages/signature.ts'
import { claude, gpt, hi, other, toChat } from '../../translating.test.ts'
import { encode as encodeChat } from './encode.ts'

test('an Anthropic conversation becomes a chat: results first, their images after all of them', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
  const { body, losses } = toChat({
    system: [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }],
    messages: [
      hi,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'EqQ=' },
          { type: 'text', text: 'Looking.' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
          { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_2', is_error: true, content: 'gone' },
          { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'a cat' }, image] },
          { type: 'text', text: 'and?' },
        ],
      },
    ],
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    stop_sequences: ['a', 'b', 'c', 'd', 'e'],
    top_k: 3,
  })
  assert.deepEqual(body['messages'], [
    { role: 'system', content: 'be kind' },
    hi,
    {
      role: 'assistant',
      content: 'Looking.',
      tool_calls: [
        { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
        { id: 'toolu_2', type: 'function', function: { name: 'look', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'toolu_1', content: 'a cat\n[image: see the next user message]' },
    { role: 'tool', tool_call_id: 'toolu_2', content: 'Error: gone' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'From the result of tool call toolu_1:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
      ],
    },
    { role: 'user', content: 'and?' },
  ])
  assert.deepEqual(
    [body['tool_choice'], body['parallel_tool_calls'], body['stop'], body['max_tokens']],
    ['required', false, ['a', 'b', 'c', 'd'], 100],
  )
  assert.deepEqual([...losses].toSorted(), ['cache_control', 'messages.reasoning', 'top_k'])
})

test('OpenAI’s own reasoning models get their own limit and no sampling fields', () => {
  const { body, losses } = toChat(
    { temperature: 0.3, thinking: { type: 'enabled', budget_tokens: 2048 }, max_tokens: 99_999 },
    gpt,
  )
  assert.deepEqual(
    [body['max_completion_tokens'], body['max_tokens'], body['temperature'], body['reasoning_effort']],
    [32_000, undefined, undefined, 'low'],
  )
  assert.deepEqual(losses, ['temperature'])
  const streamRequest = encodeChat(decodeMessages({ model: 'm', max_tokens: 1, messages: [hi] }).canonical, gpt, {
    stream: true,
  })
  assert.deepEqual(
    [streamRequest.body['stream'], streamRequest.body['stream_options']],
    [true, { include_usage: true }],
  )
})

test('another vendor’s reasoning passes through an Anthropic client and back byte for byte', () => {
  const part = { redacted: 'b3BhcXVl', format: 'openai-responses-v1', id: 'rs_1' }
  const messages = [
    hi,
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: '', signature: sealSignature(part) },
        { type: 'text', text: 'x' },
      ],
    },
    hi,
  ]
  const back = toChat({ messages }, { ...other, provider: providerOf('openrouter') })
  assert.deepEqual((back.body['messages'] as { reasoning_details?: unknown }[])[1]!.reasoning_details, [
    { type: 'reasoning.encrypted', data: 'b3BhcXVl', id: 'rs_1', format: 'openai-responses-v1', index: 0 },
  ])
  // Anthropic would reject it, so it is left out there.
  const { body, losses } = encodeMessages(decodeMessages({ model: 'm', max_tokens: 9, messages }).canonical, claude, {
    stream: false,
  })
  assert.deepEqual((body['messages'] as { content: object[] }[])[1]!.content, [{ type: 'text', text: 'x' }])
  assert.deepEqual(losses, ['messages.reasoning'])
})
