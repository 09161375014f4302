import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import { startAnthropic } from '../../../../vendors/anthropic/anthropic.ts'
import { startGemini } from '../../../../vendors/gemini/gemini.ts'
import { startOllama } from '../../../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../../../vendors/openai/openai.ts'
import { startOpenRouter } from '../../../../vendors/openrouter/openrouter.ts'
import { serve } from '../../../../vendors/server.ts'
import type { Json, Vendor } from '../../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../../world.ts'

let world: World
let client: OpenRouter
const shops = new Map<string, Vendor>()

const head = { id: 'x', created: 1, model: 'thinker' }
const usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 }
/** An OpenAI-shaped server like DeepSeek's and vLLM's: reasoning in `reasoning_content`, null in chunks without any. */
const startThinker = (): Promise<Vendor> =>
  serve({
    key: 'sk-thinker',
    answer({ request }) {
      const { stream } = request.json()
      const silent = { role: null, content: null, reasoning_content: null, tool_calls: null, refusal: null }
      const message = { ...silent, role: 'assistant', content: 'Noon.', reasoning_content: 'Let me "see": é' }
      const whole = { ...head, object: 'chat.completion', system_fingerprint: null, usage }
      const tools = { tool_calls: undefined }
      const choice = { index: 0, message: { ...message, ...tools }, logprobs: null, finish_reason: 'stop' }
      if (!stream) return { status: 200, body: { ...whole, choices: [choice] } }
      const chunk = (delta: Json, finish_reason: string | null = null) => ({
        data: {
          ...head,
          object: 'chat.completion.chunk',
          system_fingerprint: null,
          choices: [{ index: 0, delta: { ...silent, ...delta }, logprobs: null, finish_reason }],
          usage: null,
        },
      })
      const frames = [
        chunk({ role: 'assistant', content: '' }),
        ...['Let me ', '"see": é'].map((reasoning_content) => chunk({ reasoning_content })),
        chunk({ content: 'Noon.' }),
        chunk({}, 'stop'),
        { data: { ...head, object: 'chat.completion.chunk', choices: [], usage } },
        { data: '[DONE]' },
      ]
      return { format: 'sse', frames, opening: 0, closing: 3, failure: () => [] }
    },
    failure: () => ({ status: 500, body: {} }),
    headers: () => ({}),
  })

before(async () => {
  world = await gatewayWorld()
  const bring = async (slug: string, vendor: Vendor, model: string, more: object) => {
    shops.set(`${slug}/${model}`, vendor)
    const thinks = { capabilities: silent.has(`${slug}/${model}`) ? ['tools'] : ['reasoning', 'tools'] }
    await world.bring(vendor, slug, { models: [pricedModel(model, thinks)], ...more })
  }
  const claude = await startAnthropic()
  const gpt = await startOpenAI()
  const gemini = await startGemini()
  const ollama = await startOllama()
  const router = await startOpenRouter()
  await bring('an', claude, 'claude-haiku-4-5', { shape: 'anthropic-messages', base_url: claude.origin })
  await bring('th', await startThinker(), 'thinker', {})
  await bring('oa', gpt, 'gpt-4o', {})
  await bring('re', gpt, 'o4-mini', { shape: 'openai-responses' })
  await bring('go', gemini, 'gemini-3.8-flash', { shape: 'gemini', base_url: `${gemini.origin}/v1beta` })
  await bring('ll', ollama, 'qwen3:4b', { shape: 'ollama', base_url: ollama.origin })
  await bring('or', router, 'anthropic/claude-sonnet-5.5', {
    preset: 'openrouter',
    base_url: `${router.origin}/api/v1`,
  })
  client = new OpenRouter({ apiKey: world.key.key, serverURL: `${world.server.origin}/compat-c/v1` })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of new Set(shops.values())) await vendor[Symbol.asyncDispose]()
})

const reply = { reasoning: 'Let me "see": é', text: 'Noon.' }
/** Its vendor doesn't show reasoning. */
const silent = new Set(['oa/gpt-4o'])

interface HeardAnswer {
  text: string
  reasoning: string
  formats: unknown[]
  details: number
}

async function whole(chatRequest: object): Promise<HeardAnswer> {
  const answer = (await client.chat.send({ chatRequest: { ...chatRequest, stream: false } } as never)) as Json
  const { message } = answer['choices'][0]
  const details = (message.reasoningDetails ?? []) as Json[]
  assert.ok(answer['usage'].totalTokens > 0)
  return {
    text: message.content,
    reasoning: message.reasoning ?? '',
    formats: details.map(({ format }) => format as unknown),
    details: details.length,
  }
}

async function streamAnswer(chatRequest: object): Promise<HeardAnswer> {
  const stream = (await client.chat.send({ chatRequest: { ...chatRequest, stream: true } } as never)) as never
  const result: HeardAnswer = { text: '', reasoning: '', formats: [], details: 0 }
  let total = 0
  for await (const chunk of stream as AsyncIterable<Json>) {
    total = chunk['usage']?.totalTokens ?? total
    for (const { delta } of chunk['choices'] as Json[]) {
      result.text += delta.content ?? ''
      result.reasoning += delta.reasoning ?? ''
      const details = (delta.reasoningDetails ?? []) as Json[]
      result.formats.push(...details.map(({ format }) => format as unknown))
      result.details += details.length
    }
  }
  assert.ok(total > 0)
  return result
}

for (const [name, ask] of Object.entries({ whole, streamed: streamAnswer }))
  test(`OpenRouter’s own SDK reads every provider’s answer and its reasoning, ${name}`, async () => {
    for (const [model, vendor] of shops) {
      vendor.script({ reply })
      const result = await ask({ model, messages: userMessages('When?'), reasoning: { effort: 'low' } })
      const context = `${model}: ${JSON.stringify(result)}`
      assert.equal(result.text, 'Noon.', context)
      assert.equal(result.reasoning, silent.has(model) ? '' : reply.reasoning, context)
      assert.equal(result.details > 0, !silent.has(model), context)
      assert.ok(
        result.formats.every((format) => typeof format === 'string' && format.length > 0),
        context,
      )
    }
  })

test('a client that hides reasoning gets none, from any provider, whole or streamed', async () => {
  for (const [model, vendor] of shops)
    for (const stream of [false, true])
      for (const hide of [{ reasoning: { effort: 'low', exclude: true } }, { include_reasoning: false }]) {
        vendor.script({ reply })
        const ask = { model, messages: userMessages('When?'), stream, ...hide }
        const answer = await world.key.post('/compat-c/v1/chat/completions', ask)
        const context = `${model} with ${JSON.stringify(hide)}: ${answer.text}`
        assert.equal(answer.status, 200, context)
        assert.ok(answer.text.includes('Noon.'), context)
        // Its usage is still reported.
        assert.doesNotMatch(answer.text, /see|"reasoning(?:_content|_details)?"/, context)
        assert.doesNotMatch(answer.headers.get('x-uk-losses') ?? '', /exclude/, context)
      }
})

test('OpenAI’s clients read Ollama’s answers in OpenAI’s format', async () => {
  const ollama = shops.get('ll/qwen3:4b')!
  for (const stream of [false, true]) {
    ollama.script({ reply })
    const ask = { model: 'll/qwen3:4b', messages: userMessages('When?'), stream }
    const { text, body } = await world.key.post('/compat-a/v1/chat/completions', ask)
    const chunks = stream
      ? [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!) as Json)
      : [body as Json]
    const choices = chunks.flatMap((chunk) => chunk['choices'] as Json[])
    assert.ok(choices.length > 0 && choices.every(({ logprobs }) => logprobs === null), text)
    const said_ = choices.map(({ message, delta }) => (message ?? delta) as Json)
    assert.equal(said_[0]!['refusal'], null)
    assert.equal(said_.map((one) => one['reasoning_content'] ?? '').join(''), reply.reasoning)
    assert.equal(said_.map((one) => one['content'] ?? '').join(''), reply.text)
    assert.ok(
      said_.every((one) => !('reasoning' in one)),
      text,
    )
  }
})
