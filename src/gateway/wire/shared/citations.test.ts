import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fold } from '../../model/answer.ts'
import type { Chunk } from '../../model/canonical-request.ts'
import { decode as decodeMessages } from '../anthropic-messages/decode/decode.ts'
import { encode as encodeMessages } from '../anthropic-messages/encode/encode.ts'
import { readAnswer as readMessage } from '../anthropic-messages/read/answer.ts'
import { StreamReader as MessageReader } from '../anthropic-messages/read/stream.ts'
import { StreamWriter as MessageWriter } from '../anthropic-messages/write/stream.ts'
import { writeAnswer as writeMessage } from '../anthropic-messages/write/answer.ts'
import { about } from '../chunks-for.test.ts'
import { StreamReader as ChatReader } from '../openai-chat/read/stream.ts'
import { writeAnswer as writeChat } from '../openai-chat/write/answer.ts'
import { StreamWriter as ChatWriter } from '../openai-chat/write/stream.ts'
import { StreamReader as ResponseReader } from '../openai-responses/read-stream.ts'
import { StreamWriter as ResponseWriter } from '../openai-responses/write-stream.ts'
import { claude, hi, toChat } from '../translating.test.ts'

const web = { type: 'web_search_result_location', url: 'https://a.example/', title: 'A', cited_text: 'so it is' }
const page = { type: 'page_location', cited_text: 'p', document_index: 0, document_title: 'D', start_page_number: 1 }
/** Two blocks of text, as Claude cites: each block has its own sources. */
const message = {
  id: 'm',
  model: 'c',
  content: [
    { type: 'text', text: 'First. ', citations: null },
    { type: 'text', text: 'Second.', citations: [web, page] },
  ],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 2 },
}
const streamOf = (writer: { write(chunk: Chunk): string; end(): string }, chunks: Chunk[]) =>
  Buffer.from(chunks.map((chunk) => writer.write(chunk)).join('') + writer.end())
const again = (reader: { feed(bytes: Uint8Array): Chunk[]; end(): Chunk[] }, bytes: Buffer) =>
  fold([...reader.feed(bytes), ...reader.end()]).content.flatMap((part) =>
    part.type === 'text' ? (part.citations ?? []) : [],
  )

test('Claude’s citations reach OpenAI clients with their position in the text', () => {
  const chunks = readMessage(message)
  const citation = { url: 'https://a.example/', title: 'A', start_index: 7, end_index: 14 }
  const whole = writeChat(fold(chunks), about, 'compat-a') as { choices: { message: { annotations: unknown } }[] }
  assert.deepEqual(whole.choices[0]!.message.annotations, [{ type: 'url_citation', url_citation: citation }])
  for (const surface of ['compat-a', 'compat-c'] as const)
    assert.deepEqual(again(new ChatReader(), streamOf(new ChatWriter(about, surface, true), chunks)), [
      { url: 'https://a.example/', title: 'A', start: 7, end: 14 },
    ])
  assert.deepEqual(again(new ResponseReader(), streamOf(new ResponseWriter({ ...about, request: {} }), chunks)), [
    { url: 'https://a.example/', title: 'A', start: 7, end: 14 },
  ])
})

test('Chat Completions citations reach Anthropic clients in the citations of a block, and Claude’s own unchanged', () => {
  const chunks = readMessage(message)
  const stream = streamOf(new MessageWriter(about, null), chunks)
  assert.deepEqual(
    again(new MessageReader(), stream).map(({ native }) => native),
    [web, page],
  )
  const delta = {
    content: 'Second.',
    annotations: [
      { type: 'url_citation', url_citation: { url: 'https://b.example/', title: 'B', start_index: 0, end_index: 7 } },
    ],
  }
  const reader = new ChatReader()
  const sse = `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`
  const { content } = writeMessage(fold([...reader.feed(Buffer.from(sse)), ...reader.end()]), about) as {
    content: { citations: unknown }[]
  }
  assert.deepEqual(content[0]!.citations, [
    { type: 'web_search_result_location', url: 'https://b.example/', title: 'B', cited_text: '', encrypted_index: '' },
  ])
})

test('cited text in the history returns to Claude unchanged, and search results are text for other vendors', () => {
  const messages = [hi, { role: 'assistant', content: [{ type: 'text', text: 'Second.', citations: [web] }] }, hi]
  const { body } = encodeMessages(decodeMessages({ model: 'm', max_tokens: 9, messages }).canonical, claude, {
    stream: false,
  })
  assert.deepEqual((body['messages'] as { content: unknown }[])[1]!.content, [
    { type: 'text', text: 'Second.', citations: [web] },
  ])
  const result = {
    type: 'search_result',
    source: 'https://a.example/',
    title: 'A',
    content: [{ type: 'text', text: 'so' }],
  }
  const chat = toChat({ messages: [{ role: 'user', content: [{ ...result, citations: { enabled: true } }] }] })
  assert.deepEqual(chat.body['messages'], [{ role: 'user', content: 'A (https://a.example/):\n\nso' }])
})
