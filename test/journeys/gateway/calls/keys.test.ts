import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let openai: Vendor
let anthropic: Vendor

before(async () => {
  openai = await startOpenAI()
  anthropic = await startAnthropic()
  world = await gatewayWorld()
  const models = [pricedModel('gpt-4o', { capabilities: ['tools'] })]
  await world.bring(openai, 'oa', { models })
  await world.bring(openai, 'rs', { shape: 'openai-responses', models })
  const shape = 'anthropic-messages'
  const claude = [pricedModel('claude-haiku-4-5', { capabilities: ['tools'] })]
  await world.bring(anthropic, 'an', { shape, base_url: anthropic.origin, models: claude })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
  await anthropic[Symbol.asyncDispose]()
})

/** Collects the keys of a value at all depths; a list counts as one of its items. */
function keysOf(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => keysOf(item, `${at}[]`))
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, inner]) => [`${at}.${key}`, ...keysOf(inner, `${at}.${key}`)])
}

/** The keys of a stream's events, or of a whole answer. */
const keysIn = (text: string): Set<string> =>
  new Set(
    text.startsWith('{')
      ? keysOf(JSON.parse(text))
      : text.split('\n\n').flatMap((event) => {
          const data = /^data: (\{.*)$/m.exec(event)?.[1]
          return data === undefined ? [] : keysOf(JSON.parse(data), JSON.parse(data).type ?? '')
        }),
  )

const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const surfaces: Record<
  string,
  { path: string; native: string; translated: string; tools: object[]; more: object; own: RegExp; asked?: object }
> = {
  'compat-a': {
    path: '/compat-a/v1/chat/completions',
    native: 'oa/gpt-4o',
    translated: 'an/claude-haiku-4-5',
    tools: [{ type: 'function', function: { name: 'weather', parameters } }],
    more: { stream_options: { include_usage: true } },
    // Padding, features that only the vendor has, and the vendor's own metadata.
    own: /obfuscation|service_tier|system_fingerprint|annotations|prediction/,
  },
  'compat-b': {
    path: '/compat-b/v1/messages',
    native: 'an/claude-haiku-4-5',
    translated: 'oa/gpt-4o',
    tools: [{ name: 'weather', input_schema: parameters }],
    more: {},
    own: /^$/,
  },
  'the Responses API': {
    path: '/compat-a/v1/responses',
    native: 'rs/gpt-4o',
    translated: 'an/claude-haiku-4-5',
    asked: { input: 'hi', max_output_tokens: 50 },
    tools: [{ type: 'function', name: 'weather', parameters, strict: false }],
    more: {},
    own: /obfuscation/,
  },
}

for (const [surface, { path, native, translated: translatedModel, tools, more, own, asked: params }] of Object.entries(
  surfaces,
))
  test(`translated answers of ${surface} have every key of the vendor's own answers, whole and streamed`, async () => {
    for (const stream of [false, true])
      for (const call of [false, true]) {
        const reply = call ? { tools: [{ name: 'weather', arguments: { city: 'Oslo' } }] } : 'some words'
        const ask = async (model: string) => {
          const vendor = model.startsWith('an/') ? anthropic : openai
          vendor.script({ reply, usage: { input: 20, output: 10 } })
          const body = {
            model,
            ...(params ?? { max_tokens: 50, messages: userMessages('hi') }),
            stream,
            ...(call && { tools }),
            ...(stream && more),
          }
          const answer = await world.key.post(path, body)
          assert.equal(answer.status, 200, answer.text)
          return keysIn(answer.text)
        }
        const ours = await ask(translatedModel)
        const missing = [...(await ask(native))].filter((key) => !ours.has(key) && !own.test(key))
        assert.deepEqual(missing, [], `${stream ? 'streamed' : 'whole'}, ${call ? 'a call' : 'text'}`)
      }
  })
