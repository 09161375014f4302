import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startBedrock } from '../../../vendors/bedrock/bedrock.ts'
import { startGemini } from '../../../vendors/gemini/gemini.ts'
import { startOllama } from '../../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import { mistralFault, strictFault, type StrictShape } from '../../../vendors/strict/strict.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel } from '../world.ts'
import { type Surface, type Talk, surfaces } from './strict-surfaces.ts'

let world: World
const vendors: Record<string, { vendor: Vendor; model: string; rules: StrictShape }> = {}

before(async () => {
  world = await gatewayWorld()
  const [claude, gpt, gemini, ollama, bedrock, mistral] = [
    await startAnthropic(),
    await startOpenAI(),
    await startGemini(),
    await startOllama(),
    await startBedrock(),
    await startOpenAI({ models: [{ id: 'devstral-2512' }] }),
  ]
  const bring = async (slug: string, vendor: Vendor, model: string, rules: StrictShape, more: object) => {
    vendors[slug] = { vendor, model: `${slug}/${model}`, rules }
    await world.bring(vendor, slug, { models: [pricedModel(model)], ...more })
  }
  await bring('openai-chat', gpt, 'gpt-4o', 'openai-chat', {})
  await bring('openai-responses', gpt, 'gpt-4o', 'openai-responses', { shape: 'openai-responses' })
  await bring('anthropic', claude, 'claude-haiku-4-5', 'anthropic', {
    shape: 'anthropic-messages',
    base_url: claude.origin,
  })
  await bring('gemini', gemini, 'gemini-3.8-flash', 'gemini', { shape: 'gemini', base_url: `${gemini.origin}/v1beta` })
  await bring('ollama', ollama, 'qwen3:4b', 'openai-chat', { shape: 'ollama', base_url: ollama.origin })
  await bring('bedrock', bedrock, 'amazon.nova-pro-v1:0', 'bedrock', {
    shape: 'anthropic-messages',
    preset: 'bedrock',
    base_url: bedrock.origin,
    headers: { 'x-uk-region': 'us-east-1' },
  })
  await bring('mistral', mistral, 'devstral-2512', 'openai-chat', { preset: 'mistral' })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const { vendor } of Object.values(vendors)) await vendor[Symbol.asyncDispose]()
})

/** Sends a body. Returns the answer and what the vendor received; `sent` null: nothing. */
async function ask(surface: Surface, slug: string, body: Json) {
  const { vendor, rules } = vendors[slug]!
  const before = vendor.requests.length
  const answer = await world.key.post(surface.path, body)
  const request = vendor.requests.slice(before).find(({ method }) => method === 'POST')
  const vendorBody = request === undefined ? null : request.json()
  const losses = (answer.headers.get('x-uk-losses') ?? '').split(', ').filter((name) => name !== '')
  const fault =
    vendorBody === null
      ? null
      : (strictFault(rules, vendorBody) ?? (slug === 'mistral' ? mistralFault(vendorBody) : null))
  return { answer, sent: vendorBody, losses, fault, text: vendorBody === null ? '' : request!.body.toString() }
}

/** Every surface with every vendor that receives its requests rewritten. */
const pairs = (): [name: string, surface: Surface, slug: string, model: string][] =>
  Object.entries(surfaces).flatMap(([name, surface]) =>
    Object.entries(vendors).flatMap(([slug, { model }]): [string, Surface, string, string][] =>
      surface.passes.includes(slug) ? [] : [[`${name} to ${slug}`, surface, slug, model]],
    ),
  )

/** Checks that every vendor accepts a conversation from every surface. */
async function checkAccepted(
  talk: Talk,
  check: (exchange: Awaited<ReturnType<typeof ask>>, slug: string, name: string) => void = () => {},
) {
  for (const [name, surface, slug, model] of pairs()) {
    const exchange = await ask(surface, slug, surface.body(model, talk))
    assert.equal(exchange.fault, null, `${name}: ${JSON.stringify(exchange.sent)}`)
    assert.equal(exchange.answer.status, 200, `${name}: ${exchange.answer.text} ${JSON.stringify(exchange.sent)}`)
    check(exchange, slug, name)
  }
}

const note = { type: 'string' }
const object = (more: object) => ({ type: 'object', properties: { note, link: note }, ...more })
const demand = (...names: string[]) => ({ required: names })
const branches = [
  { properties: { note: { type: 'integer' }, c: note }, required: ['note', 'c'] },
  { type: 'object', properties: { note, d: note }, required: ['note'] },
]
/** JSON Schema keywords with sensible values, and values of older drafts. */
const schemas: Record<string, object> = {
  'anyOf of demands': object({ anyOf: [demand('note'), demand('link')] }),
  'anyOf without type': { anyOf: branches },
  oneOf: object({ oneOf: branches }),
  allOf: object({ allOf: branches }),
  'unions in unions': object({ anyOf: [{ allOf: branches }, { oneOf: [{ anyOf: branches }] }] }),
  'a reference': { $ref: '#/$defs/A', $defs: { A: object({ description: 'x' }) } },
  'a reference of draft 7': {
    $ref: '#/definitions/A',
    definitions: { A: object({ properties: { b: { $ref: '#/definitions/B' } } }), B: note },
  },
  'a reference into a union': object({ anyOf: branches, properties: { e: { $ref: '#/anyOf/0/properties/c' } } }),
  'a reference to itself': object({
    properties: { child: { $ref: '#' }, list: { type: 'array', items: { $ref: '#' } } },
  }),
  'references without end': { allOf: Array.from({ length: 40 }, () => ({ $ref: '#' })), properties: { note } },
  'a described reference': object({
    properties: { a: { $ref: '#/$defs/A', description: 'x', minLength: 1 } },
    $defs: { A: note },
  }),
  'a reference elsewhere': object({
    properties: { a: { $ref: 'https://example.com/a.json' }, b: { $ref: '#/$defs/gone' } },
  }),
  enum: object({ enum: [{ note: 'a' }] }),
  const: object({ const: { note: 'a' } }),
  not: object({ not: demand('note', 'link') }),
  'if and else': object({ if: demand('note'), else: {} }),
  'a nullable root': { type: ['object', 'null'], properties: { note } },
  'no type': { properties: { note } },
  'odd types': object({ properties: { a: { type: 'any' }, b: { type: ['string', 'file'] }, c: { type: [] } } }),
  'lists without items': object({ properties: { a: { type: 'array' }, b: { type: ['array', 'null'] } } }),
  'items by place': object({
    properties: { a: { type: 'array', items: [note, { type: 'integer' }], additionalItems: false } },
  }),
  'bounds of draft 4': object({
    properties: { a: { type: 'integer', minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false } },
  }),
  'a demand of draft 3': object({ properties: { a: { type: 'string', required: true } } }),
  'names twice and unknown ones': object({ required: ['note', 'note', 'gone'] }),
  'odd names': object({ properties: { 'a b': note, größe: note, $x: note, note }, required: ['a b', 'note'] }),
  'empty lists': object({ properties: { a: { enum: [] }, b: { anyOf: [] } }, anyOf: [] }),
  'true and false': object({
    properties: {
      a: true,
      b: false,
      c: { anyOf: [true, note, false] },
      d: { type: 'array', prefixItems: [note, true], items: false },
      e: { type: 'array', items: true },
      f: { type: 'object', properties: { g: false }, additionalProperties: true },
    },
    additionalProperties: false,
  }),
  'a list at the root': { type: 'array', items: note },
  'everything else': object({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://example.com/x',
    title: 'T',
    description: 'D',
    minProperties: 1,
    maxProperties: 9,
    patternProperties: { '^x': note },
    propertyNames: { pattern: '^[a-z]+$' },
    dependentRequired: { note: ['link'] },
    dependentSchemas: { note: demand('link') },
    unevaluatedProperties: false,
    default: {},
    examples: [{}],
  }),
}

test('every vendor accepts the tool schemas it is sent, and lost keywords are named', async () => {
  for (const [kind, schema] of Object.entries(schemas)) {
    const lostKeywords = ['anyOf', 'oneOf', 'allOf'].filter((keyword) => keyword in schema)
    if ('type' in schema && schema.type !== 'object') lostKeywords.push('type')
    await checkAccepted({ schema }, ({ losses }, _, name) => {
      if (name.startsWith('inference')) return
      for (const keyword of lostKeywords)
        assert.ok(losses.includes(`tools.parameters.${keyword}`), `${name}, ${kind}: ${losses.join()}`)
    })
  }
  const { chat } = surfaces
  const { sent: vendorBody, losses } = await ask(
    chat!,
    'anthropic',
    chat!.body(vendors['anthropic']!.model, { schema: schemas['anyOf of demands']! }),
  )
  assert.deepEqual(vendorBody!['tools'][0].input_schema, { type: 'object', properties: { note, link: note } })
  assert.deepEqual(losses, ['tools.parameters.anyOf'])
})

test('unpaired surrogates are sent as U+FFFD, in names too', async () => {
  const half = (text: string): string => `${text} \ud83d end`
  const talk: Talk = {
    text: half('Hello'),
    result: half('{"a":1}'),
    args: JSON.stringify({ 'na\udc00me': half('x') }),
    reminder: half('Be short.'),
    schema: object({ description: half('d'), properties: { 'not\ud83de': { ...note, description: half('d') } } }),
  }
  await checkAccepted(talk, ({ text }, _, name) => assert.ok(text.includes('\ufffd'), name))
  await checkAccepted({ result: '{"\ud83d":"\udc00"}' })
})

test('vendors accept any tool result, arguments of any form, and a message after a result', async () => {
  const results = [
    '{"items":{"$ref":"#/$defs/Book"},"$defs":{"Book":{"type":"string"}}}',
    '[{"a":[{"$ref":1}]}]',
    '{"output":1,"more":2}',
    '{"error":"x","code":1}',
    `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`,
    '{"ok":true}',
    'plain',
    '',
  ]
  for (const result of results) await checkAccepted({ result, reminder: 'Answer in one sentence.' })
  for (const args of ['', 'null', '"{\\"a\\":1}"', '{"a":"b\nc"}', '[1]', 'oops', '{"a":'])
    await checkAccepted({ args, result: 'done' })
})

test('an order of roles that Mistral refuses is repaired for OpenAI’s clients', async () => {
  const { chat } = surfaces
  const roles = ['system', 'user', 'assistant', 'tool'] as const
  const messages = { system: 'Be kind.', user: 'Hello', assistant: 'Hm.' }
  const call = { id: 'abcdefghi', type: 'function', function: { name: 'look', arguments: '{}' } }
  const conversation = [
    { role: 'assistant', content: '', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'abcdefghi', content: 'done' },
  ]
  const say = (role: (typeof roles)[number]) => (role === 'tool' ? conversation : [{ role, content: messages[role] }])
  for (const first of roles)
    for (const second of roles)
      for (const third of roles) {
        const talk = [...say('user'), ...say(first), ...say(second), ...say(third), ...say('user')]
        const exchange = await ask(chat!, 'mistral', { ...chat!.body(vendors['mistral']!.model, {}), messages: talk })
        assert.deepEqual([exchange.fault, exchange.answer.status], [null, 200], JSON.stringify(exchange.sent))
      }
})

const bytes: Record<string, string> = {
  'image/png': 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'image/jpeg': '/9j/4AAQSkZJRgABAQAAAQABAAD/2Q==',
  'image/gif': 'R0lGODlhAQABAAAAACw=',
  'image/webp': 'UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==',
  'application/pdf': 'JVBERi0xLjQKJSVFT0YK',
  'text/plain': 'aGVsbG8=',
  'text/csv': 'YSxi',
  'application/json': 'e30=',
  'application/octet-stream': 'AAEC',
  'audio/wav': 'UklGRiQAAABXQVZF',
  'image/svg+xml': 'PHN2Zy8+',
}

test('files are sent by their content, not by the field or type they came with; an error names the field', async () => {
  for (const [name, surface, slug, model] of pairs())
    for (const field of surface.fields)
      for (const [type, data] of Object.entries(bytes))
        for (const declaredType of [type, type.toUpperCase(), 'image/png', 'application/pdf']) {
          if (declaredType !== type && !/^(?:iVBOR|\/9j|R0lG|JVBER)/.test(data) && declaredType.toLowerCase() !== type)
            continue
          const { answer, fault, sent: vendorBody } = await ask(surface, slug, field(model, declaredType, data))
          const what = `${name}: ${type} as ${declaredType}: ${answer.text}`
          assert.equal(fault, null, `${what} ${JSON.stringify(vendorBody)}`)
          if (answer.status === 200) assert.ok(vendorBody !== null && JSON.stringify(vendorBody).length > 0, what)
          else {
            assert.equal(answer.status, 400, what)
            assert.match(answer.text, /messages\.0|input\.0/, what)
            // All vendors accept images, and all except Ollama accept PDFs.
            assert.ok(!/^image\/(?!svg)/.test(type) && (slug === 'ollama' || type !== 'application/pdf'), what)
          }
        }
})

test('broken base64 is refused with its field, and unusual base64 is normalized', async () => {
  for (const [name, surface, slug, model] of pairs())
    for (const field of surface.fields) {
      for (const data of ['not base64!', 'AAAAA', 'iVBO=Rw0', '====', 'é']) {
        const { answer, sent: vendorBody } = await ask(surface, slug, field(model, 'image/png', data))
        assert.deepEqual([answer.status, vendorBody], [400, null], `${name}: ${data} ${answer.text}`)
        assert.match(answer.text, /(?:messages|input)\.0\.content\.1\.[\w.]+/, answer.text)
      }
      const { fault, sent: vendorBody } = await ask(
        surface,
        slug,
        field(
          model,
          'image/png',
          bytes['image/png']!.replace(/=+$/, '')
            .replace(/(.{20})/g, '$1\n')
            .replaceAll('+', '-'),
        ),
      )
      assert.equal(fault, null, `${name} ${JSON.stringify(vendorBody)}`)
    }
})

test('documents sent to Bedrock have unique, valid names', async () => {
  const names = [
    'plan.pdf',
    'plan.pdf',
    'Plan  pdf',
    '',
    'é',
    'x'.repeat(300),
    `${'x'.repeat(300)}y`,
    undefined,
    undefined,
    'a\tb',
    '[1] (2)-3',
  ]
  const content = names.map((title) => ({
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: bytes['application/pdf'] },
    ...(title !== undefined && { title }),
  }))
  const { path } = surfaces['messages']!
  for (const parts of [content, [{ type: 'text', text: 'Compare.' }, ...content]]) {
    const body = { model: vendors['bedrock']!.model, max_tokens: 9, messages: [{ role: 'user', content: parts }] }
    const { answer, fault, sent: vendorBody } = await ask({ ...surfaces['messages']!, path }, 'bedrock', body)
    assert.deepEqual([answer.status, fault], [200, null], `${answer.text} ${JSON.stringify(vendorBody)}`)
  }
})
