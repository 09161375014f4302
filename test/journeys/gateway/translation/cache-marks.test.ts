import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startGemini } from '../../../vendors/gemini/gemini.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import { startOpenRouter } from '../../../vendors/openrouter/openrouter.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel } from '../world.ts'

let world: World
const vendors: Record<string, Vendor> = {}

before(async () => {
  world = await gatewayWorld()
  const [claude, gpt, gemini, router] = [
    await startAnthropic(),
    await startOpenAI(),
    await startGemini(),
    await startOpenRouter(),
  ]
  Object.assign(vendors, { an: claude, re: gpt, go: gemini, or: router })
  const models = (id: string) => ({ models: [pricedModel(id)] })
  await world.bring(claude, 'an', {
    ...models('claude-haiku-4-5'),
    shape: 'anthropic-messages',
    base_url: claude.origin,
  })
  await world.bring(gpt, 're', { ...models('gpt-4o'), shape: 'openai-responses' })
  await world.bring(gemini, 'go', {
    ...models('gemini-3.8-flash'),
    shape: 'gemini',
    base_url: `${gemini.origin}/v1beta`,
  })
  await world.bring(router, 'or', {
    ...models('openai/gpt-4o-mini'),
    preset: 'openrouter',
    base_url: `${router.origin}/api/v1`,
  })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of new Set(Object.values(vendors))) await vendor[Symbol.asyncDispose]()
})

const mark = { cache_control: { type: 'ephemeral' } }
const none = {}
const text = (words: string, more: object) => [{ type: 'text', text: words, ...more }]
const parameters = { type: 'object', properties: {} }

/** A chat with marks in these places. */
function chat(at: string): Json {
  const on = (place: string): object => (place === at ? mark : none)
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' }, ...on('call') }
  return {
    tools: [{ type: 'function', function: { name: 'f', parameters, ...on('function') }, ...on('tool') }],
    messages: [
      { role: 'system', content: text('Be kind.', on('system part')), ...on('system message') },
      { role: 'user', content: text('Hello', on('user part')), ...on('user message') },
      { role: 'assistant', content: text('Hm.', on('assistant part')), tool_calls: [call], ...on('assistant message') },
      { role: 'tool', tool_call_id: 'call_1', content: text('09:00', on('result part')), ...on('result message') },
    ],
    ...on('request'),
  }
}

function responses(at: string): Json {
  const on = (place: string): object => (place === at ? mark : none)
  return {
    tools: [{ type: 'function', name: 'f', parameters, ...on('tool') }],
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Hello', ...on('user part') }], ...on('user message') },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}', ...on('call') },
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [{ type: 'input_text', text: '09:00', ...on('result part') }],
        ...on('result message'),
      },
    ],
    ...on('request'),
  }
}

function messages(at: string): Json {
  const on = (place: string): object => (place === at ? mark : none)
  return {
    max_tokens: 50,
    tools: [{ name: 'f', input_schema: parameters, ...on('tool') }],
    system: text('Be kind.', on('system part')),
    messages: [
      { role: 'user', content: text('Hello', on('user part')) },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'f', input: {}, ...on('call') }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call_1',
            content: text('09:00', on('result part')),
            ...on('result message'),
          },
        ],
      },
    ],
    ...on('request'),
  }
}

const places = [
  'request',
  'tool',
  'function',
  'call',
  ...['system', 'user', 'assistant', 'result'].flatMap((role) => [`${role} part`, `${role} message`]),
]

const surfaces: [path: string, body: (at: string) => Json, passes: string][] = [
  ['/compat-a/v1/chat/completions', chat, 'or'],
  ['/compat-c/v1/chat/completions', chat, 'or'],
  ['/compat-a/v1/responses', responses, 're or'],
  ['/compat-b/v1/messages', messages, 'an'],
]

test('cache marks arrive from every place where a client can set one, or are named as lost', async () => {
  for (const [path, body, passes] of surfaces)
    for (const [slug, vendor] of Object.entries(vendors)) {
      if (passes.includes(slug)) continue
      for (const place of places) {
        const clientBody = body(place)
        if (!JSON.stringify(clientBody).includes('cache_control')) continue
        const model = {
          an: 'an/claude-haiku-4-5',
          re: 're/gpt-4o',
          go: 'go/gemini-3.8-flash',
          or: 'or/openai/gpt-4o-mini',
        }[slug]
        const answer = await world.key.post(path, { model, ...clientBody })
        assert.equal(answer.status, 200, answer.text)
        const vendorBody = vendor.requests.findLast(({ method }) => method === 'POST')!.body.toString()
        const isThere = vendorBody.includes('"cache_control":{')
        const isNamed = (answer.headers.get('x-uk-losses') ?? '').includes('cache_control')
        assert.notEqual(isThere, isNamed, `${path} to ${slug}, ${place}: ${vendorBody}`)
        if (slug === 'an') assert.ok(isThere, `${path}, ${place}: ${vendorBody}`)
      }
    }
})
