import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let openai: Vendor
let anthropic: Vendor

before(async () => {
  openai = await startOpenAI()
  anthropic = await startAnthropic()
  world = await gatewayWorld()
  const modelFacts = { context_length: 100_000, max_output_tokens: 4_096, capabilities: ['tools', 'vision', 'files'] }
  const gpt = { models: [pricedModel('gpt-4o', modelFacts)] }
  const claude = {
    shape: 'anthropic-messages',
    base_url: anthropic.origin,
    models: [pricedModel('claude-sonnet-5-5', modelFacts)],
  }
  await world.bring(openai, 'oa', gpt)
  await world.bring(openai, 'rs', { ...gpt, shape: 'openai-responses' })
  await world.bring(anthropic, 'an', claude)
  await world.bring(openai, 'shared-oa', { ...gpt, instance: true })
  await world.bring(openai, 'shared-rs', { ...gpt, shape: 'openai-responses', instance: true })
  await world.bring(anthropic, 'shared-an', { ...claude, instance: true })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
  await anthropic[Symbol.asyncDispose]()
})

const models = { oa: 'gpt-4o', rs: 'gpt-4o', an: 'claude-sonnet-5-5' }
type Shape = keyof typeof models
const paths = { oa: '/compat-a/v1/chat/completions', rs: '/compat-a/v1/responses', an: '/compat-b/v1/messages' }
const fine: Record<Shape, Json> = {
  oa: { max_tokens: 20, messages: userMessages('hi') },
  rs: { max_output_tokens: 20, input: 'hi' },
  an: { max_tokens: 20, messages: userMessages('hi') },
}

/** A way to refer to something stored at a vendor. */
interface Way {
  shape: Shape
  name: string
  /** The kind of the stored object; absent: made up, because only refusals are tested. */
  kind?: string
  body: (id: string) => Json
}
const user = (part: Json) => [{ role: 'user', content: [part] }]
const tool = (more: Json) => ({ tools: [more] })
const ways: Way[] = [
  {
    shape: 'oa',
    name: 'a file',
    kind: 'file',
    body: (file_id) => ({ messages: user({ type: 'file', file: { file_id } }) }),
  },
  {
    shape: 'oa',
    name: 'what was said aloud',
    body: (id) => ({ messages: [...userMessages('x'), { role: 'assistant', audio: { id } }, ...userMessages('y')] }),
  },
  {
    shape: 'oa',
    name: 'cached content of Gemini',
    body: (id) => ({ extra_body: { google: { cached_content: `cachedContents/${id}` } } }),
  },
  { shape: 'oa', name: 'a preset', body: (id) => ({ preset: id }) },
  { shape: 'rs', name: 'a file', kind: 'file', body: (file_id) => ({ input: user({ type: 'input_file', file_id }) }) },
  {
    shape: 'rs',
    name: 'a picture',
    kind: 'file',
    body: (file_id) => ({ input: user({ type: 'input_image', file_id }) }),
  },
  {
    shape: 'rs',
    name: 'a container',
    kind: 'container',
    body: (container) => tool({ type: 'code_interpreter', container }),
  },
  {
    shape: 'rs',
    name: 'files of a container',
    kind: 'file',
    body: (id) => tool({ type: 'code_interpreter', container: { type: 'auto', file_ids: [id] } }),
  },
  {
    shape: 'rs',
    name: 'vector stores',
    kind: 'vector_store',
    body: (id) => tool({ type: 'file_search', vector_store_ids: [id] }),
  },
  { shape: 'rs', name: 'a mask', body: (file_id) => tool({ type: 'image_generation', input_image_mask: { file_id } }) },
  { shape: 'rs', name: 'a tunnel', body: (tunnel_id) => tool({ type: 'mcp', server_label: 'x', tunnel_id }) },
  { shape: 'rs', name: 'a response', body: (id) => ({ previous_response_id: `resp_${id}` }) },
  { shape: 'rs', name: 'a conversation', body: (id) => ({ conversation: `conv_${id}` }) },
  { shape: 'rs', name: 'a conversation as an object', body: (id) => ({ conversation: { id: `conv_${id}` } }) },
  { shape: 'rs', name: 'a prompt', body: (id) => ({ prompt: { id } }) },
  { shape: 'rs', name: 'an item', body: (id) => ({ input: [{ type: 'item_reference', id }, ...userMessages('x')] }) },
  { shape: 'rs', name: 'an item by its bare id', body: (id) => ({ input: [{ id }, ...userMessages('x')] }) },
  {
    shape: 'rs',
    name: 'a picture by its call',
    body: (id) => ({ input: [{ type: 'image_generation_call', id: `ig_${id}` }, ...userMessages('x')] }),
  },
  {
    shape: 'an',
    name: 'a document',
    kind: 'file',
    body: (file_id) => ({ messages: user({ type: 'document', source: { type: 'file', file_id } }) }),
  },
  {
    shape: 'an',
    name: 'a picture',
    body: (file_id) => ({ messages: user({ type: 'image', source: { type: 'file', file_id } }) }),
  },
  { shape: 'an', name: 'an upload', body: (file_id) => ({ messages: user({ type: 'container_upload', file_id }) }) },
  { shape: 'an', name: 'a container', kind: 'container', body: (container) => ({ container }) },
  { shape: 'an', name: 'a container as an object', kind: 'container', body: (id) => ({ container: { id } }) },
  {
    shape: 'an',
    name: 'a skill',
    body: (skill_id) => ({ container: { skills: [{ type: 'custom', skill_id, version: 'latest' }] } }),
  },
  { shape: 'an', name: 'a diagnosis', body: (id) => ({ diagnostics: { previous_message_id: `msg_${id}` } }) },
  { shape: 'an', name: 'a thread', body: (id) => ({ thread: { type: 'continue', previous_message_id: `msg_${id}` } }) },
]

const vendorOf = (shape: string) => (shape === 'an' ? anthropic : openai)
const posts = () => openai.requests.length + anthropic.requests.length
const beta = { 'anthropic-beta': 'files-api-2025-04-14,message-threads-2026-08-12' }
const send = (shape: Shape, endpoint: string, body: Json, key = world.key) =>
  key.post(
    paths[shape],
    { ...fine[shape], ...body, model: `${endpoint}/${models[endpoint.replace('shared-', '') as Shape]}` },
    beta,
  )

for (const { shape, name, kind, body } of ways) {
  test(`${paths[shape]}: ${name} is read only at the caller's own vendor`, async () => {
    const vendor = vendorOf(shape)
    const id = kind === undefined ? 'made_up_1' : vendor.keep({ kind, text: `secret ${name}` })
    if (kind !== undefined) {
      const answer = await send(shape, shape, body(id))
      assert.equal(answer.status, 200, answer.text)
      assert.match(vendor.requests.at(-1)!.seen!.read[0]!.text, /secret/)
    }
    const before = posts()
    for (const endpoint of ['oa', 'rs', 'an', 'shared-oa', 'shared-rs', 'shared-an'].filter((one) => one !== shape)) {
      const answer = await send(shape, endpoint, body(id))
      assert.ok([400, 404].includes(answer.status), `${endpoint}: ${answer.status} ${answer.text}`)
      assert.equal(answer.headers.get('x-should-retry'), 'false')
    }
    assert.equal(posts(), before, 'no vendor is asked')
  })

  test(`${paths[shape]}: ${name} counts as the full context if a cap applies`, async () => {
    const small = await world.person.key({ spend_cap_usd: 0.05, spend_cap_period: 'total' })
    const { status, text } = await send(shape, shape, body('made_up_1'), small)
    assert.equal(status, 402, text)
  })
}

test('no neighboring field turns a reference into data, neither an unknown type nor a neighbor of another kind', async () => {
  const cases: [Shape, Json, string][] = [
    ['rs', { type: 'web_search_tool_result', previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['rs', { input: ['hi', { type: 'item_reference', id: 'msg_1' }] }, 'input.1'],
    [
      'oa',
      { messages: [{ type: 'a_tool_result', ...user({ type: 'file', file: { file_id: 'file_1' } })[0] }] },
      'messages.0.content.0.file.file_id',
    ],
    ['an', { type: 'a_tool_result', container: 'container_1' }, 'container'],
    [
      'an',
      { messages: user(['x', { type: 'document', source: { type: 'file', file_id: 'file_1' } }] as never) },
      'messages.0.content.0.1.source.file_id',
    ],
  ]
  for (const [shape, body, param] of cases) {
    const before = posts()
    const answer = await send(shape, `shared-${shape}`, body)
    assert.ok([400, 404].includes(answer.status), `${param}: ${answer.status} ${answer.text}`)
    assert.match(
      answer.text,
      new RegExp(param.replaceAll('.', '\\.').replace(/^previous_response_id$/, 'Previous response')),
    )
    assert.equal(posts(), before)
  }
})

test('fields that only resemble references are data', async () => {
  const schema = { type: 'object', properties: { file_id: { type: 'string' }, container: { type: 'string' } } }
  const bodies: [Shape, Json][] = [
    ['oa', { tools: [{ type: 'function', function: { name: 'f', parameters: schema } }], metadata: { file_id: 'x' } }],
    ['rs', { tools: [{ type: 'function', name: 'f', parameters: schema, strict: false }], metadata: { file_id: 'x' } }],
    ['an', { tools: [{ name: 'f', input_schema: schema }] }],
    [
      'an',
      {
        messages: [
          ...userMessages('x'),
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { file_id: 'x', container: 'y' } }],
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
        ],
        tools: [{ name: 'f', input_schema: schema }],
      },
    ],
  ]
  for (const [shape, body] of bodies)
    for (const endpoint of ['oa', 'an', `shared-${shape}`]) {
      const { status, text } = await send(shape, endpoint, body)
      assert.equal(status, 200, `${shape} to ${endpoint}: ${text}`)
    }
})

test('a bucket and a file of Gemini aren’t opened with another account’s key', async () => {
  for (const url of ['gs://theirs/a.png', 'https://generativelanguage.googleapis.com/v1beta/files/abc']) {
    const before = posts()
    const { status, body } = await send('oa', 'shared-oa', {
      messages: user({ type: 'image_url', image_url: { url } }),
    })
    assert.deepEqual([status, body.error.param], [400, 'messages.0.content.0.image_url.url'])
    assert.equal(posts(), before)
  }
})

const steps = { maxRetries: 0, logLevel: 'off' as const }
const weather = {
  type: 'custom' as const,
  name: 'weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
  parse: (input: unknown) => input as Json,
  run: async (input: Json) => `sunny in ${input.city}`,
}

test('a tool runner of Anthropic’s SDK keeps its conversation: in a thread at its own vendor, resent elsewhere', async () => {
  const client = new Anthropic({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-b`, ...steps })
  const turns = [
    { reply: { text: 'Let me look.', tools: [{ id: 'toolu_1', name: 'weather', arguments: { city: 'Kyoto' } }] } },
    { reply: { tools: [{ id: 'toolu_2', name: 'weather', arguments: { city: 'Nara' } }] } },
    { reply: 'Both are sunny.' },
  ]
  const runs = async (model: string, stream: boolean) => {
    const vendor = model.includes('claude') ? anthropic : openai
    const before = vendor.requests.length
    vendor.script(...turns)
    const params = { model, max_tokens: 100, system: 'Be brief.', messages: userMessages('Weather?'), tools: [weather] }
    const runner = client.beta.messages.toolRunner(stream ? { ...params, stream: true } : params)
    const last = (await runner) as { content: { type: string; text?: string }[] }
    assert.equal(last.content[0]!.text, 'Both are sunny.', model)
    return vendor.requests.slice(before)
  }
  for (const stream of [false, true]) {
    const own = await runs('an/claude-sonnet-5-5', stream)
    assert.deepEqual(
      own.map((request) => [request.json().thread.type, request.json().messages.length, request.seen!.messages.length]),
      [
        ['create', 1, 1],
        ['continue', 1, 3],
        ['continue', 1, 5],
      ],
    )
    for (const model of ['shared-an/claude-sonnet-5-5', 'oa/gpt-4o', 'rs/gpt-4o']) {
      const requests = await runs(model, stream)
      assert.equal(requests.length, 3, `${model}: each turn is asked and paid for once`)
      assert.match(requests.at(-1)!.body.toString(), /Weather\?.*Kyoto.*Nara/s, model)
    }
  }
})

test('a thread that the vendor lost, or refuses to continue, is reported in its own format', async () => {
  const client = new Anthropic({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-b`, ...steps })
  const thread = client.beta.messages.thread({ model: 'an/claude-sonnet-5-5', max_tokens: 100 })
  await thread.send({ role: 'user', content: 'one' })
  const before = anthropic.requests.length
  anthropic.script({ forgets: true })
  await thread.send({ role: 'user', content: 'two' })
  assert.deepEqual(
    anthropic.requests.slice(before).map((request) => request.json().thread.type),
    ['continue', 'create'],
  )
  const { status, body } = await send('an', 'an', { thread: { type: 'continue', previous_message_id: 'msg_none' } })
  assert.deepEqual(
    [status, body.error.type, body.error.details.error_code],
    [404, 'not_found_error', 'thread_not_found'],
  )
})
