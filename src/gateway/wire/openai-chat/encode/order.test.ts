import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mistralFault } from '#test/vendors/strict/strict.ts'
import { providerOf } from '../../../providers/every-provider.ts'
import { decode as decodeMessages } from '../../anthropic-messages/decode/decode.ts'
import { decode as decodeResponses } from '../../openai-responses/decode.ts'
import { other } from '../../translating.test.ts'
import { decode as decodeChat } from '../decode/decode.ts'
import { encode } from './encode.ts'

type Json = Record<string, any>

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }
const call = { id: 'abcdefghi', type: 'function', function: { name: 'look', arguments: '{}' } }
const source = { type: 'base64', media_type: 'image/png', data: png }

/** What can follow what, in the format of each surface. No Mistral model takes assistant images back. */
const steps: Record<string, Json[][]> = {
  chat: [
    [{ role: 'system', content: 'Be kind.' }],
    [{ role: 'user', content: 'Hello' }],
    [{ role: 'assistant', content: 'Hm.' }],
    [{ role: 'assistant', content: '', images: [picture] }],
    [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'abcdefghi', content: [{ type: 'text', text: 'done' }, picture] },
    ],
  ],
  responses: [
    [{ role: 'developer', content: 'Be kind.' }],
    [{ role: 'user', content: 'Hello' }],
    [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hm.' }] }],
    [{ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: png }],
    [{ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] }],
    [
      { type: 'function_call', call_id: 'abcdefghi', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'abcdefghi', output: 'done' },
    ],
  ],
  messages: [
    [{ role: 'system', content: 'Be kind.' }],
    [{ role: 'user', content: 'Hello' }],
    [{ role: 'assistant', content: [{ type: 'text', text: 'Hm.' }] }],
    [{ role: 'assistant', content: [{ type: 'image', source }] }],
    [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'EqQ=' }] }],
    [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'image', source }] }],
      },
    ],
  ],
}
const decoders: Record<string, (talk: Json[]) => ReturnType<typeof decodeChat>['canonical']> = {
  chat: (messages) => decodeChat({ model: 'm', messages }).canonical,
  responses: (input) => decodeResponses({ model: 'm', input }).canonical,
  messages: (messages) => decodeMessages({ model: 'm', max_tokens: 9, messages }).canonical,
}

const mistral = { ...other, model: 'devstral-2512', provider: providerOf('mistral') }

for (const [surface, all] of Object.entries(steps))
  test(`${surface}: Mistral accepts the order of every conversation of up to three steps`, () => {
    const none: Json[][] = [[]]
    const talks = all.flatMap((first) =>
      [...none, ...all].flatMap((second) => [...none, ...all].map((third) => [...first, ...second, ...third])),
    )
    for (const talk of talks) {
      const { body } = encode(decoders[surface]!(talk), mistral, { stream: false })
      assert.equal(mistralFault(body), null, JSON.stringify(body['messages']))
    }
  })
