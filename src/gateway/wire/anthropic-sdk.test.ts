import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import AnthropicOld from 'anthropic-sdk-0'
import * as fc from 'fast-check'
import { usageOf } from '#core/usage.ts'
import { type CollectedAnswer, fold, textOfAnswer } from '../model/answer.ts'
import type { Chunk } from '../model/canonical-request.ts'
import { writeAnswer as writeMessage } from './anthropic-messages/write/answer.ts'
import { writeError as writeMessageError } from './anthropic-messages/write/errors.ts'
import { StreamWriter as MessageWriter } from './anthropic-messages/write/stream.ts'
import { about, wildAnswers } from './chunks-for.test.ts'

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

for (const [version, Client] of [
  ['1.11', Anthropic],
  // The API used here is the same in both versions.
  ['0.137', AnthropicOld as unknown as typeof Anthropic],
] as const) {
  describe(`the Anthropic SDK ${version}`, () => {
    const client = () => new Client({ apiKey: 'uk_x', baseURL: origin(), maxRetries: 0 })
    const params = { model: 'm', max_tokens: 100, messages: [{ role: 'user' as const, content: 'hi' }] }
    const give = (chunks: Chunk[]) => streaming(streamOf(new MessageWriter(about, 'req_1', 16), chunks))
    const final = () => client().messages.stream(params).finalMessage()
    const reasons = {
      stop: 'end_turn',
      length: 'max_tokens',
      tool_calls: 'tool_use',
      content_filter: 'refusal',
      error: '',
    }

    const same = (message: Anthropic.Message, answer: CollectedAnswer) => {
      assert.equal(
        message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
        textOfAnswer(answer),
      )
      const calls = message.content.flatMap((block) =>
        block.type === 'tool_use' ? [{ id: block.id, name: block.name, input: block.input }] : [],
      )
      assert.deepEqual(calls, callsOf(answer))
      const thinking = message.content.flatMap((block) =>
        block.type === 'thinking'
          ? [[block.thinking, block.signature]]
          : block.type === 'redacted_thinking'
            ? [[block.data]]
            : [],
      )
      const reasoning = answer.content.flatMap((part) =>
        part.type === 'reasoning' ? [part.redacted === undefined ? [part.text, part.signature] : [part.redacted]] : [],
      )
      assert.deepEqual(thinking, reasoning)
      assert.equal(message.stop_reason, reasons[answer.finish!.reason])
    }

    test('text, calls, reasoning, and empty answers come through its stream helper', async () => {
      for (const chunks of [text, calls, thinking, empty]) {
        give(chunks)
        const message = await final()
        same(message, fold(chunks))
        assert.deepEqual(
          [message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens],
          [11, 5, 10],
        )
      }
    })

    test('raw events keep the vendor’s order, with a stop for every start', async () => {
      give(calls)
      const events = await Array.fromAsync(await client().messages.create({ ...params, stream: true }))
      assert.deepEqual(
        events.map((event) => ('index' in event ? `${event.type} ${event.index}` : event.type)),
        [
          'message_start',
          ...[0, 1, 2].flatMap((index) => [
            `content_block_start ${index}`,
            ...Array.from({ length: index === 1 ? 2 : 1 }, () => `content_block_delta ${index}`),
            `content_block_stop ${index}`,
          ]),
          'message_delta',
          'message_stop',
        ],
      )
    })

    test('a truncated stream is an API error, not a short answer', async () => {
      give(brokenChunks)
      await assert.rejects(final, (error: Error) => error instanceof Client.APIError && /Too busy/.test(error.message))
    })

    test('whole answers and errors', async () => {
      answering(writeMessage(fold(calls), about))
      same(await client().messages.create(params), fold(calls))
      const { status, body } = writeMessageError({ kind: 'rate_limited', message: 'slow down' }, 'req_1')
      answering(body, status)
      await assert.rejects(() => client().messages.create(params), Client.RateLimitError)
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
}
