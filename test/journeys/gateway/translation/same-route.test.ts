import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { upload } from '../../../drive/drive.ts'
import { startSite } from '../../../outside/site.ts'
import { startGemini } from '../../../vendors/gemini/gemini.ts'
import { startOllama } from '../../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, userMessages } from '../world.ts'

let world: World
let able: Vendor
let unable: Vendor

const price = { pricing: { input: 1, output: 2 } }
/** For each routing constraint, a model with two providers, one of which can't serve it. */
const lacks: Record<string, [able: object, unable: object]> = {
  tools: [
    { ...price, capabilities: ['tools', 'vision'] },
    { ...price, capabilities: ['vision'] },
  ],
  vision: [
    { ...price, capabilities: ['tools', 'vision'] },
    { ...price, capabilities: ['tools'] },
  ],
  context: [
    { ...price, context_length: 100_000 },
    { ...price, context_length: 1_000 },
  ],
  limit: [
    { ...price, max_output_tokens: 8_000 },
    { ...price, max_output_tokens: 500 },
  ],
  unpriced: [price, {}],
}

before(async () => {
  const models = Object.keys(lacks).map((id) => ({ id, context: 100_000, output: 8_000 }))
  able = await startOpenAI({ models })
  unable = await startOpenAI({ models })
  world = await gatewayWorld({ UK_FETCH_ALLOW: '127.0.0.0/8' })
  const rows = (which: 0 | 1) => Object.entries(lacks).map(([id, pair]) => ({ id, ...pair[which] }))
  await world.bring(able, 'able', { models: rows(0) })
  await world.bring(unable, 'unable', { models: rows(1) })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await able[Symbol.asyncDispose]()
  await unable[Symbol.asyncDispose]()
})

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const schema = { type: 'object', properties: {} }
const long = 'word '.repeat(2_000)

/** The same question for each route. */
const asks: Record<string, (model: string) => object> = {
  'compat-a': (model) => ({
    model,
    messages:
      model === 'vision'
        ? userMessages([{ type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } }] as never)
        : userMessages(model === 'context' ? long : 'hello'),
    ...(model === 'tools' && { tools: [{ type: 'function', function: { name: 'now', parameters: schema } }] }),
    ...(model === 'limit' && { max_tokens: 5_000 }),
  }),
  text: (model) => ({
    model,
    messages:
      model === 'vision'
        ? userMessages([{ type: 'image', source: { kind: 'base64', media_type: 'image/png', data: pixel } }] as never)
        : userMessages(model === 'context' ? long : 'hello'),
    ...(model === 'tools' && { tools: [{ name: 'now', parameters: schema }] }),
    ...(model === 'limit' && { max_output_tokens: 5_000 }),
  }),
}
const TIMES = 6

test('a surface, /inference/text, and a chat call the same providers for the same question, for every routing constraint', async () => {
  const cappedKey = await world.person.key({ spend_cap_usd: 50, spend_cap_period: 'day' })
  const { id: picture } = (
    await upload(world.person, { workspace_id: world.person.workspaceId }, Buffer.from(pixel, 'base64'), 'dot.png')
  ).body.data
  const agent = (
    await world.person.post('/agents', { name: 'Clock', tools: [{ name: 'chats.list', policy: 'allow' }] })
  ).body.data
  for (const model of Object.keys(lacks)) {
    const by = model === 'unpriced' ? cappedKey : world.key
    const chat = async () =>
      (await by.post('/chats', { model, ...(model === 'tools' && { agent_id: agent.id }) })).body.data.id as string
    const content =
      model === 'vision'
        ? [{ type: 'image', source: { kind: 'file', file_id: picture } }]
        : model === 'context'
          ? long
          : 'hello'
    const ways: Record<string, () => Promise<{ status: number; text: string }>> = {
      'compat-a': () => by.post('/compat-a/v1/chat/completions', asks['compat-a']!(model)),
      text: () => by.post('/inference/text', asks['text']!(model)),
      // A chat has no limit.
      ...(model !== 'limit' && { chat: async () => by.post(`/chats/${await chat()}/messages`, { content }) }),
    }
    for (const [name, ask] of Object.entries(ways)) {
      const [before, after_] = [able.requests.length, unable.requests.length]
      for (let i = 0; i < TIMES; i++) {
        const answer = await ask()
        assert.equal(answer.status, 200, `${name} ${model}: ${answer.text}`)
      }
      const requestCounts = [able, unable].map(({ requests }, i) => requests.length - [before, after_][i]!)
      assert.deepEqual(requestCounts, [TIMES, 0], `${model} by ${name}`)
    }
  }
})

test('an image given by URL is downloaded for providers that fetch nothing, from /inference/text as from a surface', async () => {
  await using site = await startSite({
    '/dot': (_, response) => response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from(pixel, 'base64')),
  })
  await using ollama = await startOllama()
  await using gemini = await startGemini()
  await world.bring(ollama, 'll', { shape: 'ollama', base_url: ollama.origin, models: [{ id: 'llama3.2', ...price }] })
  const at = { shape: 'gemini', base_url: `${gemini.origin}/v1beta`, models: [{ id: 'gemini-3.8-flash', ...price }] }
  await world.bring(gemini, 'go', at)
  for (const model of ['ll/llama3.2', 'go/gemini-3.8-flash']) {
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image', source: { kind: 'url', url: `${site.origin}/dot` } },
    ]
    const answer = await world.key.post('/inference/text', { model, messages: [{ role: 'user', content }] })
    assert.equal(answer.status, 200, answer.text)
    const vendor = model.startsWith('ll') ? ollama : gemini
    assert.ok(vendor.requests.at(-1)!.body.includes(pixel), model)
  }
  assert.deepEqual(site.asked, ['/dot', '/dot'])
})
