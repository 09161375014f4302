import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode as decodeMessages } from '../anthropic-messages/decode/decode.ts'
import { encode as encodeMessages } from '../anthropic-messages/encode/encode.ts'
import { encode as encodeGemini } from '../gemini/encode.ts'
import { decode as decodeChat } from '../openai-chat/decode/decode.ts'
import { encode as encodeChat } from '../openai-chat/encode/encode.ts'
import { decode as decodeResponses } from '../openai-responses/decode.ts'
import { encode as encodeResponses } from '../openai-responses/encode.ts'
import type { Decoded, Encoded } from '../shared/target.ts'
import { claude, gpt, other } from '../translating.test.ts'

type Json = Record<string, any>

const parameters = { type: 'object', properties: {} }
const picture = 'https://example.com/a.png'
const paper = 'https://example.com/a.pdf'
const anthropicMedia = [
  { type: 'image', source: { type: 'url', url: picture } },
  { type: 'document', source: { type: 'url', url: paper } },
]

/** Requests with every object that can carry a mark, including those that no other provider receives. */
const requests: Record<string, { decode: (body: unknown) => Decoded; body: Json }> = {
  chat: {
    decode: decodeChat,
    body: {
      model: 'm',
      tools: [
        { type: 'function', function: { name: 'f', parameters } },
        { type: 'custom', custom: { name: 'c' } },
      ],
      functions: [{ name: 'g', parameters }],
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hello' },
            { type: 'image_url', image_url: { url: picture } },
            { type: 'file', file: { file_data: 'data:text/plain;base64,aGk=' } },
            { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Hm.' },
            { type: 'refusal', refusal: 'No.' },
          ],
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } },
            { id: 'b', type: 'custom', custom: { name: 'c', input: 'x' } },
          ],
        },
        {
          role: 'tool',
          tool_call_id: 'a',
          content: [
            { type: 'text', text: '09:00' },
            { type: 'image_url', image_url: { url: picture } },
          ],
        },
        { role: 'assistant', content: null, function_call: { name: 'g', arguments: '{}' } },
        { role: 'function', name: 'g', content: 'done' },
      ],
    },
  },
  responses: {
    decode: decodeResponses,
    body: {
      model: 'm',
      tools: [
        { type: 'function', name: 'f', parameters },
        { type: 'custom', name: 'c' },
        { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g', parameters }] },
        { type: 'web_search' },
      ],
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Hello' },
            { type: 'input_image', image_url: picture },
            { type: 'input_file', file_url: paper },
            { type: 'input_audio', input_audio: {} },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hm.' }] },
        { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'iVBORw0KGgo=' },
        { type: 'image_generation_call', id: 'ig_2', status: 'completed', result: '' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'custom_tool_call', call_id: 'b', name: 'c', input: 'x' },
        { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: '09:00' }] },
        { type: 'custom_tool_call_output', call_id: 'b', output: 'done' },
      ],
    },
  },
  messages: {
    decode: (body) => decodeMessages(body),
    body: {
      model: 'm',
      max_tokens: 50,
      tools: [
        { name: 'f', input_schema: parameters },
        { type: 'bash_20250124', name: 'bash' },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      system: [{ type: 'text', text: 'Be kind.' }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hello' },
            ...anthropicMedia,
            { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'inside' }] } },
            { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'found' }] },
            { type: 'container_upload', file_id: 'file_1' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Hm.' },
            { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
            { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
            { type: 'tool_use', id: 'a', name: 'f', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: '09:00' }, ...anthropicMedia] },
          ],
        },
      ],
    },
  },
}

/** Yields the request once per object that can carry a mark: the request itself, list elements, functions. */
function* withEachMark(body: Json): Generator<[place: string, body: Json]> {
  function* places(value: unknown, path: string[]): Generator<string[]> {
    if (typeof value !== 'object' || value === null) return
    const last = path.at(-1)
    if (path.length === 0 || /^\d+$|^function(?:_call)?$/.test(last!)) yield path
    for (const [name, inner] of Object.entries(value)) yield* places(inner, [...path, name])
  }
  for (const path of places(body, [])) {
    const copy = structuredClone(body)
    const place = path.reduce<Json>((object, name) => object[name], copy)
    place['cache_control'] = { type: 'ephemeral' }
    yield [path.join('.') || 'the request', copy]
  }
}

const providers: Record<string, (canonical: Decoded['canonical']) => Encoded> = {
  Anthropic: (canonical) => encodeMessages(canonical, claude, { stream: false }),
  'OpenAI chat': (canonical) => encodeChat(canonical, gpt, { stream: false }),
  'OpenAI responses': (canonical) => encodeResponses(canonical, gpt, { stream: false }),
  Gemini: (canonical) => encodeGemini(canonical, { ...other, model: 'gemini-3-pro-preview' }),
}

for (const [name, { decode, body }] of Object.entries(requests))
  test(`${name}: a cache mark on any object is sent or named as a loss`, () => {
    const all = [...withEachMark(body)]
    assert.ok(all.length > 12, String(all.length))
    for (const [place, request] of all)
      for (const [provider, encode] of Object.entries(providers)) {
        const { canonical, losses } = decode(request)
        const body = encode(canonical)
        const isSent = JSON.stringify(body.body).includes('"cache_control"')
        const isNamed = [...losses, ...body.losses].includes('cache_control')
        assert.ok(isSent || isNamed, `${place} to ${provider} vanished`)
      }
  })
