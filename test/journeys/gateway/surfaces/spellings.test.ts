// Thorough: run by the merge check, or by name.
/** A request means the same however its JSON is written: with spaces, on several lines, with escaped letters. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { presets } from '#modules/ai-gateway/endpoints/presets.ts'
import type { Shape } from '#gateway/model/offer.ts'
import { serve } from '../../../vendors/server.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

/** Requests to these are signed: their fakes would reject an odd one before it is read. */
const signedPresets = new Set(['bedrock', 'vertex'])
const presetIds = [null, ...presets.map(({ id }) => id).filter((id) => !signedPresets.has(id))]
// For the other shapes the vendor doesn't matter: one known and one unknown are enough.
const places = [
  ...presetIds.map((preset) => ({ shape: 'openai-chat' as Shape, preset })),
  ...(['openai-responses', 'anthropic-messages', 'gemini', 'ollama'] as const).map((shape) => ({
    shape,
    preset: null,
  })),
  { shape: 'openai-responses' as Shape, preset: 'openai' },
].map((place) => ({ ...place, slug: `${place.shape}-${place.preset ?? 'unnamed'}` }))

/** Escapes each letter of field names. */
const escapeLetters = (text: string): string =>
  text.replaceAll(/"(\w+)"(?=:)/g, (_, name: string) => `"${[...name].map(escape).join('')}"`)
const escape = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
/** No text in the requests contains what these search for. */
const spellings: Record<string, (json: object) => string> = {
  'as Python writes it': (json) => JSON.stringify(json).replaceAll('":', '": ').replaceAll(',"', ', "'),
  'in lines': (json) => JSON.stringify(json, null, 2),
  'with spaces everywhere': (json) => JSON.stringify(json, null, '\t').replaceAll('":', '" \r\n : \t'),
  'with names in escapes': (json) => escapeLetters(JSON.stringify(json)),
}

const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }
const answersFor = (more: object) => [
  ...userMessages('one'),
  { role: 'assistant', content: 'two', ...more },
  { role: 'user', content: 'three' },
]
const picture = (url: string) => [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
const chats: Record<string, object> = {
  thoughts: { messages: answersFor({ reasoning: 'hm' }) },
  'thoughts by another name': { messages: answersFor({ reasoning_content: 'hm' }) },
  'thoughts with details': { messages: answersFor({ reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] }) },
  developer: { messages: [{ role: 'developer', content: 'be brief' }, ...userMessages('x')] },
  'a picture by its address': { messages: picture('http://127.0.0.1:9/a.png') },
  'a picture in itself': { messages: picture('data:image/png;base64,AA==') },
  'a call without arguments': {
    messages: [
      ...answersFor({ tool_calls: [call] }).slice(0, 2),
      { role: 'tool', tool_call_id: 'call_1', content: 'y' },
    ],
  },
  'two limits': { messages: userMessages('x'), max_tokens: 20, max_completion_tokens: 30 },
  effort: { messages: userMessages('x'), reasoning_effort: 'xhigh', reasoning: { effort: 'minimal' } },
  'marks for a cache': {
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] }],
  },
  'parts of another API': {
    messages: [
      { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }] },
    ],
  },
  'tools of another API': { messages: userMessages('x'), tools: [{ name: 'f', input_schema: { type: 'object' } }] },
  'a stream': { messages: userMessages('x'), stream: true, stream_options: { include_usage: false } },
}
const messages: Record<string, object> = {
  'a picture by its address': {
    messages: [
      { role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'http://127.0.0.1:9/a.png' } }] },
    ],
  },
  thinking: { messages: userMessages('x'), thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2048 },
}
const ways: readonly [path: string, requests: Record<string, object>][] = [
  ['/compat-a/v1/chat/completions', chats],
  ['/compat-c/api/v1/chat/completions', chats],
  ['/compat-b/v1/messages', messages],
]

let world: World
let vendor: Vendor
before(async () => {
  world = await gatewayWorld({ UK_LIMIT_INFERENCE: '0' })
  const refusal = { status: 400, body: { error: { type: 'invalid_request_error', message: 'not today' } } }
  vendor = await serve({ key: 'sk-x', answer: () => refusal, failure: () => refusal, headers: () => ({}) })
  for (const { shape, preset, slug } of places)
    await world.bring(vendor, slug, {
      shape,
      preset,
      base_url: shape === 'anthropic-messages' || shape === 'ollama' ? vendor.origin : `${vendor.origin}/v1`,
      ...(preset === 'azure' && { headers: { 'x-uk-api-version': '2026-10-21' } }),
      models: [pricedModel('m', { capabilities: ['reasoning', 'tools', 'vision'] })],
    })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

for (const [path, requests] of ways)
  test(`${path}: the spelling of a request doesn't change what its provider receives`, async () => {
    const ask = async (text: string): Promise<{ status: number; asked: { path: string; json: Json }[] }> => {
      const before = vendor.requests.length
      const { status } = await world.key.post(path, text)
      return { status, asked: vendor.requests.slice(before).map((one) => ({ path: one.path, json: one.json() })) }
    }
    const wrong: string[] = []
    for (const { slug } of places)
      for (const [name, request] of Object.entries(requests)) {
        const json = { model: `${slug}/m`, ...(path.includes('messages') && { max_tokens: 20 }), ...request }
        const usual = await ask(JSON.stringify(json))
        for (const [spelling, write] of Object.entries(spellings))
          try {
            assert.deepEqual(await ask(write(json)), usual)
          } catch {
            wrong.push(`${slug}: ${name}, ${spelling}`)
          }
      }
    assert.deepEqual(wrong, [])
  })
