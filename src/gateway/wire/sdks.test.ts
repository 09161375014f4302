import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { streamText } from 'ai'
import * as fc from 'fast-check'
import OpenAI, { APIError, BadRequestError } from 'openai'
import { usageOf } from '#core/usage.ts'
import { type CollectedAnswer, fold, textOfAnswer } from '../model/answer.ts'
import type { Chunk } from '../model/canonical-request.ts'
import { about, wildAnswers } from './chunks-for.test.ts'
import { writeError } from './openai-chat/write/errors.ts'
import { writeAnswer } from './openai-chat/write/answer.ts'
import { StreamWriter } from './openai-chat/write/stream.ts'
import { writeAnswer as writeResponse } from './openai-responses/write-response.ts'
import { StreamWriter as ResponsesWriter } from './openai-responses/write-stream.ts'

/** The next response: a stream if the request asks for one, else a whole answer or an error. */
let reply: { type: string; status: number; bytes: Buffer }

const server = createServer((request, response) => {
  request.resume()
  response.writeHead(reply.status, { 'content-type': reply.type, 'request-id': 'req_1' })
  // Small pieces, so that the client's parser has to join them.
  for (let at = 0; at < reply.bytes.length; at += 61) response.write(reply.bytes.subarray(at, at + 61))
  response.end()
})

before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
after(() => {
  server.closeAllConnections()
  server.close()
})

const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const streaming = (text: string) => {
  reply = { type: 'text/event-stream; charset=utf-8', status: 200, bytes: Buffer.from(text) }
}

const answering = (body: object, status = 200) => {
  reply = { type: 'application/json', status, bytes: Buffer.from(JSON.stringify(body)) }
}

const streamOf = (writer: { write(chunk: Chunk): string; end(): string }, chunks: Chunk[]): string =>
  chunks.map((chunk) => writer.write(chunk)).join('') + writer.end()

const start: Chunk = { type: 'start', id: 'up', model: 'upstream' }
const usageChunk: Chunk = {
  type: 'usage',
  usage: usageOf({ input_tokens: 11, cache_read_tokens: 5, output_tokens: 7, reasoning_tokens: 3 }),
}

const ending = (reason: 'stop' | 'length' | 'tool_calls' | 'content_filter'): Chunk[] => [
  usageChunk,
  { type: 'finish', reason, native: reason },
]

const call = (id: string, name: string, ...deltas: string[]): Chunk[] => [
  { type: 'tool_call_start', id, name },
  ...deltas.map((delta): Chunk => ({ type: 'tool_call_delta', id, delta })),
  { type: 'tool_call_end', id },
]

const text: Chunk[] = [start, { type: 'text', text: 'Grüße, ' }, { type: 'text', text: '世界 👋🏽' }, ...ending('stop')]
const calls: Chunk[] = [
  start,
  { type: 'text', text: 'Let me look.' },
  ...call('call_1', 'get_weather', '{"ci', 'ty":"Paris"}'),
  ...call('call_2', 'get_time', '{}'),
  ...ending('tool_calls'),
]

const thinking: Chunk[] = [
  start,
  { type: 'reasoning', text: 'Six times ' },
  { type: 'reasoning', text: 'seven' },
  { type: 'reasoning_end', signature: 'EqQB+sig/==', format: 'anthropic-claude-v1' },
  { type: 'text', text: '42' },
  ...ending('stop'),
]

const empty: Chunk[] = [start, ...ending('stop')]
const brokenChunks: Chunk[] = [
  start,
  { type: 'text', text: 'Half' },
  { type: 'error', error: { kind: 'overloaded', message: 'Too busy' } },
]

const callsOf = ({ content }: CollectedAnswer) =>
  content.flatMap((part) =>
    part.type === 'tool_call' ? [{ id: part.id, name: part.name, input: JSON.parse(part.arguments) as unknown }] : [],
  )

describe('the openai SDK', () => {
  const client = () => new OpenAI({ apiKey: 'uk_x', baseURL: `${origin()}/v1`, maxRetries: 0 })
  const params = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] }
  const give = (chunks: Chunk[], includeUsage = true) =>
    streaming(streamOf(new StreamWriter(about, 'compat-a', includeUsage), chunks))
  const final = () =>
    client()
      .chat.completions.stream({ ...params, stream_options: { include_usage: true } })
      .finalChatCompletion()

  /** The SDK's result must match the chunks. */
  const same = (completion: OpenAI.Chat.ChatCompletion, answer: CollectedAnswer) => {
    const { message, finish_reason } = completion.choices[0]!
    assert.equal(message.content ?? '', textOfAnswer(answer))
    const calls = (message.tool_calls ?? []).map((one) =>
      one.type === 'function'
        ? { id: one.id, name: one.function.name, input: JSON.parse(one.function.arguments) as unknown }
        : null,
    )
    assert.deepEqual(calls, callsOf(answer))
    assert.equal(finish_reason, answer.finish?.reason)
  }

  test('text, calls, reasoning, and empty answers come through its stream helper', async () => {
    for (const chunks of [text, calls, thinking, empty]) {
      give(chunks)
      const message = await final()
      same(message, fold(chunks))
      assert.deepEqual(
        [message.usage?.prompt_tokens, message.usage?.completion_tokens, message.usage?.total_tokens],
        [16, 10, 26],
      )
      assert.equal(message.usage?.prompt_tokens_details?.cached_tokens, 5)
    }
  })

  test('raw chunks have reasoning, one ID, and usage only on request', async () => {
    give(thinking, false)
    const chunks = await Array.fromAsync(await client().chat.completions.create({ ...params, stream: true }))
    const reasoning = chunks.map(
      ({ choices }) => (choices[0]?.delta as { reasoning_content?: string } | undefined)?.reasoning_content ?? '',
    )
    assert.equal(reasoning.join(''), 'Six times seven')
    assert.deepEqual([...new Set(chunks.map(({ id }) => id))], [`chatcmpl-${about.id}`])
    assert.ok(chunks.every((chunk) => !('usage' in chunk)))
    give(thinking, true)
    const rawChunks = await Array.fromAsync(await client().chat.completions.create({ ...params, stream: true }))
    const [last, ...others] = rawChunks.toReversed()
    assert.ok(others.every(({ usage }) => usage === null))
    assert.ok(last!.choices.length === 0 && last!.usage!.total_tokens > 0)
  })

  test('a truncated stream is an API error, not a short answer', async () => {
    give(brokenChunks)
    await assert.rejects(final, (error: Error) => error instanceof APIError && /Too busy/.test(error.message))
  })

  test('whole answers and errors', async () => {
    answering(writeAnswer(fold(calls), about, 'compat-a'))
    same(await client().chat.completions.create(params), fold(calls))
    const { status, body } = writeError({ kind: 'context_length', message: 'too long' }, 'compat-a')
    answering(body, status)
    await assert.rejects(
      () => client().chat.completions.create(params),
      (error) => error instanceof BadRequestError && error.code === 'context_length_exceeded',
    )
  })

  test('random answers come through complete', async () => {
    await fc.assert(
      fc.asyncProperty(wildAnswers, async (chunks) => {
        give(chunks)
        same(await final(), fold(chunks))
      }),
      { numRuns: 150 },
    )
  })
})

describe('the openai SDK, responses', () => {
  const client = () => new OpenAI({ apiKey: 'uk_x', baseURL: `${origin()}/v1`, maxRetries: 0 })
  const params = { model: 'm', input: 'hi' }
  const give = (chunks: Chunk[]) => streaming(streamOf(new ResponsesWriter(about), chunks))
  const final = () => client().responses.stream(params).finalResponse()
  const same = (response: OpenAI.Responses.Response, answer: CollectedAnswer) => {
    assert.equal(response.output_text, textOfAnswer(answer))
    const calls = response.output.flatMap((item) =>
      item.type === 'function_call'
        ? [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) as unknown }]
        : [],
    )
    assert.deepEqual(calls, callsOf(answer))
    const thoughts = response.output.flatMap((item) =>
      item.type === 'reasoning' ? [item.summary.map((part) => part.text).join('')] : [],
    )
    assert.deepEqual(
      thoughts,
      answer.content.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])),
    )
    assert.equal(response.status, answer.finish?.reason === 'length' ? 'incomplete' : 'completed')
  }

  test('text, calls, reasoning, and empty answers come through its stream helper', async () => {
    for (const chunks of [text, calls, thinking, empty]) {
      give(chunks)
      const response = await final()
      same(response, fold(chunks))
      assert.deepEqual(
        [response.usage?.input_tokens, response.usage?.output_tokens, response.usage?.total_tokens],
        [16, 10, 26],
      )
    }
  })

  test('a truncated stream fails with the content so far; a whole answer is the same', async () => {
    give(brokenChunks)
    const response = await final()
    assert.deepEqual([response.status, response.error?.message, response.output_text], ['failed', 'Too busy', 'Half'])
    answering(writeResponse(fold(calls), about))
    same(await client().responses.create(params), fold(calls))
  })

  test('random answers come through complete', async () => {
    await fc.assert(
      fc.asyncProperty(wildAnswers, async (chunks) => {
        give(chunks)
        same(await final(), fold(chunks))
      }),
      { numRuns: 150 },
    )
  })
})

describe('the OpenRouter provider of the AI SDK', () => {
  const run = async (chunks: Chunk[]) => {
    streaming(streamOf(new StreamWriter(about, 'compat-c', false), chunks))
    const model = createOpenRouter({ apiKey: 'uk_x', baseURL: `${origin()}/api/v1` }).chat('m')
    const errors: unknown[] = []
    const result = streamText({ model, prompt: 'hi', maxRetries: 0, onError: ({ error }) => void errors.push(error) })
    const parts = await Array.fromAsync(result.fullStream)
    return { result, parts, errors }
  }

  test('text, calls, reasoning with its signature, and empty answers come through', async () => {
    const { result } = await run(text)
    assert.equal(await result.text, 'Grüße, 世界 👋🏽')
    assert.deepEqual([(await result.usage).inputTokens, (await result.usage).outputTokens], [16, 10])
    const toolCalls = await (await run(calls)).result.toolCalls
    assert.deepEqual(
      toolCalls.map(({ toolCallId, toolName, input }) => ({ id: toolCallId, name: toolName, input: input as unknown })),
      callsOf(fold(calls)),
    )
    const thinkingResult = (await run(thinking)).result
    assert.equal(await thinkingResult.reasoningText, 'Six times seven')
    const [first] = await thinkingResult.reasoning
    assert.match(JSON.stringify(first), /"signature":"EqQB\+sig\/=="/)
    assert.match(JSON.stringify(first), /"format":"anthropic-claude-v1"/)
    assert.equal(await (await run(empty)).result.finishReason, 'stop')
  })

  test('a truncated stream is an error', async () => {
    const { errors, parts } = await run(brokenChunks)
    assert.match(JSON.stringify(errors) + String(errors[0]), /Too busy/)
    assert.ok(parts.some(({ type }) => type === 'error'))
  })

  test('random answers come through complete', async () => {
    await fc.assert(
      fc.asyncProperty(wildAnswers, async (chunks) => {
        const { parts, errors } = await run(chunks)
        assert.deepEqual(errors, [])
        const text = parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('')
        assert.equal(text, textOfAnswer(fold(chunks)))
        const calls = parts.flatMap((part) =>
          part.type === 'tool-call' ? [{ id: part.toolCallId, name: part.toolName, input: part.input as unknown }] : [],
        )
        assert.deepEqual(calls.toSorted(byId), callsOf(fold(chunks)).toSorted(byId))
      }),
      { numRuns: 100 },
    )
  })
})

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
