// Random conversations through every pair of client shape and provider shape, over HTTP, read by the official SDKs. The
// vendors check every request as strictly as the originals; answers come in pieces cut anywhere.
import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import * as fc from 'fast-check'
import OpenAI from 'openai'
import { startAnthropic } from '../../../../vendors/anthropic/anthropic.ts'
import { startGemini } from '../../../../vendors/gemini/gemini.ts'
import { startOllama } from '../../../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../../vendors/vendor.ts'
import { gatewayWorld, pricedModel } from '../../world.ts'
import { type Client, type Talk, argsOf, chatOf, messagesOf, responsesOf, talk } from './fuzz-clients.ts'

export interface Pairs extends AsyncDisposable {
  pairs: { title: string; check(runs: number): Promise<void>; breaks(after: number): Promise<void> }[]
}

export async function fuzzPairs(): Promise<Pairs> {
  const [openai, anthropic, gemini, ollama] = [
    await startOpenAI(),
    await startAnthropic(),
    await startGemini(),
    await startOllama(),
  ]
  const world = await gatewayWorld()
  const tools = { capabilities: ['tools', 'reasoning'] }
  const providers = providersOf(openai, anthropic, gemini, ollama)
  for (const { slug, model, vendor, more } of providers)
    await world.bring(vendor, slug, { models: [pricedModel(model, tools)], ...more })

  let requestId = ''
  const noting: typeof fetch = async (...args) => {
    const response = await fetch(...args)
    requestId = response.headers.get('x-request-id')!
    return response
  }
  const { origin } = world.server
  const options = { apiKey: world.key.key, maxRetries: 0, fetch: noting }
  const openaiAt = (path: string) => new OpenAI({ ...options, baseURL: origin + path })
  const clients: Record<string, Client> = {
    'chat completions': chatOf(openaiAt('/compat-a/v1')),
    responses: responsesOf(openaiAt('/compat-a/v1')),
    messages: messagesOf(new Anthropic({ ...options, baseURL: `${origin}/compat-b` })),
    'chat completions of OpenRouter': chatOf(openaiAt('/compat-c/v1')),
  }

  const lastCall = () => world.record(requestId)

  return {
    pairs: Object.entries(clients).flatMap(([name, client]) =>
      providers.map((provider) => ({
        title: `${name} over ${provider.slug}`,
        breaks: async (after: number) => await checkBroken(client, provider, after, lastCall),
        check: async (runs: number) =>
          await fc.assert(
            fc.asyncProperty(talk, async (one) => checkTalk(client, provider, one, lastCall)),
            // The script left over from a failed run must not answer the next.
            { numRuns: runs, endOnFailure: true },
          ),
      })),
    ),
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]()
      for (const vendor of [openai, anthropic, gemini, ollama]) await vendor[Symbol.asyncDispose]()
    },
  }
}

interface Provider {
  slug: string
  model: string
  vendor: Vendor
  more: object
  /** Whether it reports cached and reasoning tokens. */
  buckets: boolean
}

/** Returns the record of the last call. */
type LastCall = () => Promise<any>

const providersOf = (openai: Vendor, anthropic: Vendor, gemini: Vendor, ollama: Vendor): Provider[] => [
  { slug: 'chat', model: 'gpt-4o', vendor: openai, more: {}, buckets: true },
  { slug: 'responses', model: 'o4-mini', vendor: openai, more: { shape: 'openai-responses' }, buckets: true },
  {
    slug: 'messages',
    model: 'claude-sonnet-5-5',
    vendor: anthropic,
    more: { shape: 'anthropic-messages' },
    buckets: true,
  },
  {
    slug: 'gemini',
    model: 'gemini-3.8-flash',
    vendor: gemini,
    more: { shape: 'gemini', base_url: `${gemini.origin}/v1beta` },
    buckets: true,
  },
  // It counts neither cache nor reasoning.
  {
    slug: 'ollama',
    model: 'llama3.2',
    vendor: ollama,
    more: { shape: 'ollama', base_url: ollama.origin },
    buckets: false,
  },
]

async function checkTalk(
  client: Client,
  { slug, model, vendor, buckets }: Provider,
  one: Talk,
  lastCall: LastCall,
): Promise<void> {
  const { answer, usage, chunking } = one
  const calls = answer.calls.map(({ name, args }) => ({ name, arguments: args }))
  vendor.script({ reply: { text: answer.text, tools: calls, reasoning: answer.thought }, usage, chunking })
  const answerHeard = await client(`${slug}/${model}`, one)
  assert.equal(answerHeard.text, answer.text)
  assert.deepEqual(answerHeard.calls, answer.calls)
  assert.equal(answerHeard.called, answer.calls.length > 0)
  if (answerHeard.joined !== null) {
    assert.equal(answerHeard.joined.text, answer.text)
    // A call without arguments may come without a delta.
    assert.deepEqual(
      answerHeard.joined.args.map((text) => argsOf(text || '{}')),
      answer.calls.map(({ args }) => args),
    )
  }
  assert.deepEqual(
    [answerHeard.input, answerHeard.output, answerHeard.total],
    [usage.input, usage.output, usage.input + usage.output],
  )
  const call = await lastCall()
  const expectedUsage = buckets ? usage : { ...usage, cached: 0, reasoning: 0 }
  assert.deepEqual([call.input_tokens, call.cache_read_tokens, call.output_tokens, call.reasoning_tokens].map(Number), [
    usage.input - expectedUsage.cached,
    expectedUsage.cached,
    usage.output - expectedUsage.reasoning,
    expectedUsage.reasoning,
  ])
  assert.equal(call.status, 'succeeded')
  assert.equal(vendor.pending(), 0)
  // Reasoning returns with its seals, calls with their results: the vendors reject mismatches.
  assert.equal(await answerHeard.next(), 'next')
}

/** The stream breaks after this many content frames; the SDK must not take it for a whole answer. */
async function checkBroken(
  client: Client,
  { slug, model, vendor }: Provider,
  after: number,
  lastCall: LastCall,
): Promise<void> {
  const reply = 'one two three four five six seven eight'
  vendor.script({ reply, midStreamError: { message: 'burst', after }, chunking: after * 7 })
  const one: Talk = {
    steps: [{ user: 'x' }],
    answer: { text: reply, calls: [], thought: '' },
    usage: { input: 1, cached: 0, output: 1, reasoning: 0 },
    chunking: 1,
    streamed: true,
  }
  await assert.rejects(client(`${slug}/${model}`, one))
  assert.equal((await lastCall()).status, 'failed')
}
