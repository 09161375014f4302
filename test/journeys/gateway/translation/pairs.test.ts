import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { streamText, tool } from 'ai'
import OpenAI from 'openai'
import { z } from 'zod'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startGemini } from '../../../vendors/gemini/gemini.ts'
import { startOllama } from '../../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
const shops = new Map<string, Vendor>()

before(async () => {
  world = await gatewayWorld()
  const bring = async (slug: string, vendor: Vendor, model: string, more: object) => {
    shops.set(`${slug}/${model}`, vendor)
    await world.bring(vendor, slug, { models: [pricedModel(model)], ...more })
  }
  const [claude, gpt, gemini, ollama] = [
    await startAnthropic(),
    await startOpenAI(),
    await startGemini(),
    await startOllama(),
  ]
  await bring('an', claude, 'claude-haiku-4-5', { shape: 'anthropic-messages', base_url: claude.origin })
  await bring('oa', gpt, 'gpt-4o', {})
  await bring('re', gpt, 'gpt-4o', { shape: 'openai-responses' })
  await bring('go', gemini, 'gemini-3.8-flash', { shape: 'gemini', base_url: `${gemini.origin}/v1beta` })
  await bring('ll', ollama, 'qwen3:4b', { shape: 'ollama', base_url: ollama.origin })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of new Set(shops.values())) await vendor[Symbol.asyncDispose]()
})

const text = 'Grüße aus 東京 👩‍👩‍👧 — "quoted"\n\tand tabbed'
const calls = [
  { name: 'weather', arguments: { city: 'Kyōto', note: 'a\n"b"\\c' } },
  { name: 'weather', arguments: {} },
]
const schema = { type: 'object' as const, properties: { city: { type: 'string' }, note: { type: 'string' } } }

/** Reads a streamed answer with a client's own SDK. */
type ReadAnswer = (model: string) => Promise<{ text: string; calls: unknown[] }>

const clients: Record<string, ReadAnswer> = {
  async openai(model) {
    const client = new OpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-a/v1`, maxRetries: 0 })
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: schema } }]
    const stream = client.chat.completions.stream({ model, messages: userMessages('x'), tools })
    const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0]!
    assert.equal(finish_reason, 'tool_calls')
    const args = (message.tool_calls ?? []).map((call) => (call.type === 'function' ? call.function.arguments : ''))
    return { text: message.content ?? '', calls: args.map((args) => JSON.parse(args) as unknown) }
  },
  async responses(model) {
    const client = new OpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-a/v1`, maxRetries: 0 })
    const tools = [{ type: 'function' as const, name: 'weather', parameters: schema, strict: false }]
    const answer = await client.responses.stream({ model, input: 'x', tools }).finalResponse()
    const args = answer.output.flatMap((item) => (item.type === 'function_call' ? [item.arguments] : []))
    return { text: answer.output_text, calls: args.map((args) => JSON.parse(args) as unknown) }
  },
  async anthropic(model) {
    const client = new Anthropic({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-b`, maxRetries: 0 })
    const tools = [{ name: 'weather', input_schema: schema }]
    const message = await client.messages
      .stream({ model, max_tokens: 100, messages: userMessages('x'), tools })
      .finalMessage()
    assert.equal(message.stop_reason, 'tool_use')
    return {
      text: message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      calls: message.content.flatMap((block) => (block.type === 'tool_use' ? [block.input] : [])),
    }
  },
  async openrouter(model) {
    const baseURL = `${world.server.origin}/compat-c/v1`
    const client = createOpenRouter({ apiKey: world.key.key, baseURL, compatibility: 'strict' })
    const inputSchema = z.object({ city: z.string().optional(), note: z.string().optional() })
    const stream = streamText({ model: client(model), prompt: 'x', tools: { weather: tool({ inputSchema }) } })
    return { text: await stream.text, calls: (await stream.toolCalls).map(({ input }) => input) }
  },
}

for (const [client, readAnswer] of Object.entries(clients))
  test(`the ${client} SDK reads every provider’s answer, wherever its bytes are cut`, async () => {
    for (const [model, vendor] of shops)
      for (const chunking of [undefined, 1 + (model.length % 7), 64]) {
        vendor.script({ reply: { text, tools: calls }, chunking })
        const answer = await readAnswer(model)
        assert.deepEqual(
          answer,
          { text, calls: calls.map((call) => call.arguments) },
          `${model} in pieces of ${chunking}`,
        )
      }
  })
