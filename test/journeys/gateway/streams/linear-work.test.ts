/** Twice the answer costs about twice the work, on every wire that is read or written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AgentAnswer } from '#modules/chats/agent/answer.ts'
import { InferenceAnswer } from '#modules/inference/answer.ts'
import { Collector } from '#gateway/model/answer.ts'
import type { AnswerAbout } from '#gateway/model/answer-about.ts'
import type { CanonicalRequest, Chunk } from '#gateway/model/canonical-request.ts'
import { hideUsage } from '#gateway/passthrough/hide-usage.ts'
import { Frames } from '#gateway/passthrough/frames.ts'
import { bareErrors } from '#gateway/surfaces/compat-a/bare-errors.ts'
import { ollamaAnswers } from '#gateway/surfaces/compat-a/ollama-answers.ts'
import { redraft } from '#gateway/surfaces/compat-c/redraft.ts'
import { ChunkMeter } from '#gateway/translation/chunk-meter.ts'
import { StopSequences } from '#gateway/translation/stop-sequences.ts'
import { StreamReader as MessageReader } from '#gateway/wire/anthropic-messages/read/stream.ts'
import { StreamWriter as MessageWriter } from '#gateway/wire/anthropic-messages/write/stream.ts'
import { StreamReader as ConverseReader } from '#gateway/wire/converse/read.ts'
import { StreamReader as GeminiReader } from '#gateway/wire/gemini/read-stream.ts'
import { StreamReader as ChatReader } from '#gateway/wire/openai-chat/read/stream.ts'
import { StreamWriter as ChatWriter } from '#gateway/wire/openai-chat/write/stream.ts'
import { StreamReader as ResponsesReader } from '#gateway/wire/openai-responses/read-stream.ts'
import { StreamWriter as ResponsesWriter } from '#gateway/wire/openai-responses/write-stream.ts'
import { superlinear } from './counted-work.ts'

const about: AnswerAbout = {
  id: 'x',
  model: 'm',
  created: 1,
  provider: 'p',
  billing: 'byok',
  request: {},
  costOf: () => null,
}
const canonical = { model: 'm', messages: [] } as unknown as CanonicalRequest
type Event = [name: string, data: object]
const each = (size: number, events: (n: number) => Event[]): Event[] =>
  Array.from({ length: size }, (_, n) => events(n)).flat()
const frame = (events: Event[]): Buffer =>
  Buffer.from(
    events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`).join(''),
  )

const chat = (delta: object): Event => ['message', { id: 'x', model: 'm', choices: [{ index: 0, delta }] }]
const callEvent = (fields: object, args = '{}'): Event =>
  chat({ tool_calls: [{ ...fields, function: { name: 'f', arguments: args } }] })
const item = (n: number, type = 'function_call') => ({ type, call_id: `c${n}`, name: 'f' })

/** Answers of a given size on each wire, for everything that may grow. */
const wires: Record<
  string,
  { reader: () => { feed(bytes: Uint8Array): Chunk[]; end(): Chunk[] }; kinds: Record<string, (n: number) => Event[]> }
> = {
  'openai-chat': {
    reader: () => new ChatReader(),
    kinds: {
      'calls by index': (n) => [callEvent({ index: n, id: `c${n}` })],
      'calls by ID alone': (n) => [callEvent({ id: `c${n}` }, '{'), callEvent({ id: `c${n}` }, '}')],
      'calls under one index': (n) => [callEvent({ index: 0, id: `c${n}` })],
      'calls with one ID': (n) => [callEvent({ index: n, id: 'c' })],
      'calls without a name': (n) => [chat({ tool_calls: [{ index: n, function: { arguments: '{' } }] })],
      'calls that never end, and text': (n) => [
        callEvent({ index: n, id: `c${n}` }, '{"a":"}'),
        chat({ content: 'x' }),
      ],
      'one call between texts': (n) => [
        callEvent({ index: 0, id: 'c' }, n === 0 ? '{"a":"}' : '}'),
        chat({ content: 'x' }),
      ],
      'calls whose pieces alternate': (n) => [callEvent({ index: n % 50, ...(n < 50 && { id: `c${n}` }) }, '1')],
      'empty deltas': () => [chat({}), chat({ content: '' }), chat({ tool_calls: [] })],
      'thoughts and text': () => [chat({ reasoning_content: 'x' }), chat({ content: 'y' })],
      'sealed thoughts': (n) => [
        chat({ reasoning_details: [{ type: 'reasoning.encrypted', data: `d${n}`, id: `r${n}` }] }),
      ],
      citations: (n) => [
        chat({
          content: 'x',
          annotations: [
            { type: 'url_citation', url_citation: { url: `https://example.com/${n}`, start_index: 0, end_index: 1 } },
          ],
        }),
      ],
    },
  },
  'openai-responses': {
    reader: () => new ResponsesReader(),
    kinds: {
      calls: (n) => [
        ['response.output_item.added', { output_index: n, item: item(n) }],
        ['response.function_call_arguments.delta', { output_index: n, delta: '{}' }],
        ['response.output_item.done', { output_index: n, item: { ...item(n), arguments: '{}' } }],
      ],
      'calls that never end': (n) => [['response.output_item.added', { output_index: n, item: item(n) }]],
      'calls with one ID': (n) => [
        ['response.output_item.done', { output_index: n, item: { ...item(0), arguments: '{}' } }],
      ],
      'empty deltas': () => [
        ['response.output_text.delta', { output_index: 0, delta: '' }],
        ['response.unknown', {}],
      ],
      'one long custom call': (n) => [
        ...(n === 0
          ? [['response.output_item.added', { output_index: 0, item: item(0, 'custom_tool_call') }] as Event]
          : []),
        ['response.custom_tool_call_input.delta', { output_index: 0, delta: 'x' }],
      ],
      'thoughts and text': (n) => [
        ['response.reasoning_summary_text.delta', { output_index: 2 * n, delta: 'x' }],
        [
          'response.output_item.done',
          { output_index: 2 * n, item: { type: 'reasoning', summary: [], encrypted_content: 'e' } },
        ],
        ['response.output_text.delta', { output_index: 2 * n + 1, delta: 'x' }],
      ],
    },
  },
  'anthropic-messages': {
    reader: () => new MessageReader(),
    kinds: {
      calls: (n) => [
        ['content_block_start', { index: n, content_block: { type: 'tool_use', id: `c${n}`, name: 'f', input: {} } }],
        ['content_block_delta', { index: n, delta: { type: 'input_json_delta', partial_json: '{}' } }],
        ['content_block_stop', { index: n }],
      ],
      'calls that never end': (n) => [
        ['content_block_start', { index: n, content_block: { type: 'tool_use', id: `c${n}`, name: 'f', input: {} } }],
      ],
      'empty deltas': () => [
        ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: '' } }],
        ['ping', {}],
      ],
      'thoughts and text': (n) => [
        ['content_block_start', { index: 2 * n, content_block: { type: 'thinking', thinking: 'x', signature: 's' } }],
        ['content_block_stop', { index: 2 * n }],
        ['content_block_start', { index: 2 * n + 1, content_block: { type: 'text', text: 'x' } }],
      ],
      usage: (n) => [['message_delta', { delta: {}, usage: { output_tokens: n } }]],
    },
  },
  gemini: {
    reader: () => new GeminiReader(),
    kinds: {
      calls: (n) => [
        [
          '',
          {
            candidates: [{ content: { parts: [{ functionCall: { name: 'f', args: { n } }, thoughtSignature: 's' }] } }],
          },
        ],
      ],
      'calls with one ID': () => [
        ['', { candidates: [{ content: { parts: [{ functionCall: { id: 'c', name: 'f', args: {} } }] } }] }],
      ],
      'empty deltas': () => [
        ['', { candidates: [{ content: { parts: [{ text: '' }] } }] }],
        ['', {}],
      ],
      'thoughts and text': () => [
        ['', { candidates: [{ content: { parts: [{ text: 'x', thought: true }, { text: 'y' }] } }] }],
      ],
    },
  },
  converse: {
    reader: () => new ConverseReader(),
    kinds: {
      calls: (n) => [
        ['contentBlockStart', { contentBlockIndex: n, start: { toolUse: { toolUseId: `c${n}`, name: 'f' } } }],
        ['contentBlockDelta', { contentBlockIndex: n, delta: { toolUse: { input: '{}' } } }],
        ['contentBlockStop', { contentBlockIndex: n }],
      ],
      'calls that never end': (n) => [
        ['contentBlockStart', { contentBlockIndex: n, start: { toolUse: { toolUseId: `c${n}`, name: 'f' } } }],
      ],
      'empty deltas': () => [['contentBlockDelta', { contentBlockIndex: 0, delta: { text: '' } }]],
      'thoughts and text': (n) => [
        ['contentBlockDelta', { contentBlockIndex: n, delta: { reasoningContent: { text: 'x', signature: 's' } } }],
        ['contentBlockStop', { contentBlockIndex: n }],
        ['contentBlockDelta', { contentBlockIndex: n, delta: { text: 'x' } }],
      ],
    },
  },
}

const writers = {
  'openai-chat': () => new ChatWriter(about, 'compat-a', true),
  'openrouter-chat': () => new ChatWriter(about, 'compat-c', true),
  'openai-responses': () => new ResponsesWriter(about),
  'anthropic-messages': () => new MessageWriter(about, null),
}

const PIECE = 65_536
const finish: Chunk = { type: 'finish', reason: 'stop', native: null }

function* readChunks(wire: string, bytes: Buffer): Generator<Chunk> {
  const reader = wires[wire]!.reader()
  for (let at = 0; at < bytes.length; at += PIECE) yield* reader.feed(bytes.subarray(at, at + PIECE))
  yield* reader.end()
}

/** Passes chunks through everything that consumes an answer. */
async function take(chunks: readonly Chunk[]): Promise<void> {
  for (const createWriter of Object.values(writers)) {
    const writer = createWriter()
    for (const chunk of chunks) writer.write(chunk)
    writer.write(finish)
    writer.end()
  }
  const meter = new ChunkMeter(canonical, false)
  const takers = [new Collector(), new InferenceAnswer('01K00000000000000000000000', new Date(0)), new AgentAnswer('m')]
  for (const chunk of chunks) {
    meter.add(chunk)
    for (const taker of takers) taker.add(chunk)
  }
  const stopSequences = new StopSequences(['xx'.repeat(200), 'never'])
  for (const chunk of chunks) stopSequences.push(chunk, () => {})
}

const SIZE = 200

for (const [wire, { kinds }] of Object.entries(wires))
  test(`${wire}: an answer twice as long is read, written, and collected with twice the work`, async () => {
    for (const [kind, events] of Object.entries(kinds))
      assert.deepEqual(
        await superlinear(async (size) => {
          const chunks = [...readChunks(wire, frame(each(size, events)))]
          await take(chunks.filter(({ type }) => type !== 'finish' && type !== 'error'))
        }, SIZE),
        [],
        kind,
      )
  })

test('an answer twice as long passes with twice the work, with any text inserted or removed', async () => {
  const drafts = {
    'hidden usage': () => ({ events: hideUsage }),
    'OpenRouter’s fields': () => redraft(about),
    'bare errors': () => bareErrors(about),
    'Ollama’s answers': () => ollamaAnswers(about),
  }
  const streams: Record<string, (size: number) => Buffer> = {
    'many events': (size) => frame(each(size, (n) => wires['openai-chat']!.kinds['calls by index']!(n))),
    'many usages': (size) => frame(each(size, () => [['message', { choices: [], usage: { total_tokens: 1 } }]])),
    'one event of many usages': (size) =>
      frame([
        [
          'message',
          { choices: [{ delta: { list: Array.from({ length: size }, () => ({ usage: { n: 1 }, error: {} })) } }] },
        ],
      ]),
    'one event in small pieces': (size) => frame([chat({ content: 'x'.repeat(20 * size) })]),
  }
  for (const [name, createDraft] of Object.entries(drafts))
    for (const [kind, bytesOf] of Object.entries(streams))
      assert.deepEqual(
        await superlinear((size) => {
          const bytes = bytesOf(size)
          const [frames, draft] = [new Frames(), createDraft()]
          const step = kind === 'one event in small pieces' ? 10 : PIECE
          for (let at = 0; at < bytes.length; at += step) {
            const whole = frames.push(bytes.subarray(at, at + step))
            if (whole !== null) draft.events(whole)
          }
        }, SIZE),
        [],
        `${name}: ${kind}`,
      )
})
