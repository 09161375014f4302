import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { type CollectedAnswer, fold } from '../model/answer.ts'
import type { Chunk } from '../model/canonical-request.ts'
import { readAnswer as readMessage } from './anthropic-messages/read/answer.ts'
import { StreamReader as MessageReader } from './anthropic-messages/read/stream.ts'
import { openSignature } from './anthropic-messages/signature.ts'
import { writeAnswer as writeMessage } from './anthropic-messages/write/answer.ts'
import { StreamWriter as MessageWriter } from './anthropic-messages/write/stream.ts'
import { about, cuts, plainAnswers, readCut, wildAnswers } from './chunks-for.test.ts'
import { readAnswer as readChat } from './openai-chat/read/answer.ts'
import { StreamReader as ChatReader } from './openai-chat/read/stream.ts'
import { writeAnswer as writeChat } from './openai-chat/write/answer.ts'
import { StreamWriter as ChatWriter } from './openai-chat/write/stream.ts'
import { readAnswer as readResponse } from './openai-responses/read-answer.ts'
import { StreamReader as ResponsesReader } from './openai-responses/read-stream.ts'
import { writeAnswer as writeResponse } from './openai-responses/write-response.ts'
import { StreamWriter as ResponsesWriter } from './openai-responses/write-stream.ts'

interface Writer {
  write(chunk: Chunk): string
  end(): string
}
const streamOf = (writer: Writer, chunks: Chunk[]): Buffer =>
  Buffer.from(chunks.map((chunk) => writer.write(chunk)).join('') + writer.end())

/** The parts that must survive: content, usage, finish. Names of the answer and vendor wording may differ. */
const essence = ({ content, usage, finish, error }: CollectedAnswer) => ({
  content: content.map((part) =>
    part.type === 'reasoning' && part.signature !== undefined ? { ...part, ...openSignature(part.signature) } : part,
  ),
  usage,
  reason: finish?.reason,
  error,
})

test('an answer written as an Anthropic stream reads back unchanged', () => {
  fc.assert(
    fc.property(wildAnswers, cuts, (chunks, lengths) => {
      const bytes = streamOf(new MessageWriter(about, null), chunks)
      assert.deepEqual(essence(fold(readCut(new MessageReader(), bytes, lengths))), essence(fold(chunks)))
    }),
  )
})

test('an answer written as an OpenRouter stream reads back unchanged', () => {
  fc.assert(
    fc.property(wildAnswers, cuts, (chunks, lengths) => {
      const bytes = streamOf(new ChatWriter(about, 'compat-c', false), chunks)
      assert.deepEqual(essence(fold(readCut(new ChatReader(), bytes, lengths))), essence(fold(chunks)))
    }),
  )
})

test('an answer written as an OpenAI stream loses only what the shape can’t represent', () => {
  const representable = (answer: CollectedAnswer) => {
    const { content, ...rest } = essence(answer)
    const of = (type: string) => content.filter((part) => part.type === type)
    const words = (type: 'text' | 'reasoning') => content.map((part) => (part.type === type ? part.text : '')).join('')
    return { ...rest, calls: of('tool_call'), text: words('text'), reasoning: words('reasoning') }
  }
  fc.assert(
    fc.property(wildAnswers, cuts, (chunks, lengths) => {
      const bytes = streamOf(new ChatWriter(about, 'compat-a', true), chunks)
      assert.deepEqual(representable(fold(readCut(new ChatReader(), bytes, lengths))), representable(fold(chunks)))
    }),
  )
})

/** A client that keeps reasoning; otherwise it comes without its signature. */
const keeping = { ...about, request: { include: ['reasoning.encrypted_content'] } }

test('an answer written as a Responses stream reads back unchanged, including sealed reasoning', () => {
  fc.assert(
    fc.property(wildAnswers, cuts, (chunks, lengths) => {
      const bytes = streamOf(new ResponsesWriter(keeping), chunks)
      assert.deepEqual(essence(fold(readCut(new ResponsesReader(), bytes, lengths))), essence(fold(chunks)))
    }),
  )
})

test('whole answers read back unchanged', () => {
  fc.assert(
    fc.property(plainAnswers, (chunks) => {
      const answer = fold(chunks)
      const through = (write: (answer: CollectedAnswer) => object, reader: (body: unknown) => Chunk[]) =>
        essence(fold(reader(JSON.parse(JSON.stringify(write(answer))))))
      const message = through((one) => writeMessage(one, about), readMessage)
      // Arguments pass through an object, so their spelling may change.
      const respelt = (part: CollectedAnswer['content'][number]) =>
        part.type === 'tool_call' ? { ...part, arguments: JSON.stringify(JSON.parse(part.arguments)) } : part
      assert.deepEqual(message.content.map(respelt), essence(answer).content.map(respelt))
      assert.deepEqual([message.usage, message.reason], [answer.usage, answer.finish?.reason])
      const response = through((one) => writeResponse(one, keeping), readResponse)
      assert.deepEqual(response, essence(answer))
      const chat = through((one) => writeChat(one, about, 'compat-c'), readChat)
      const of = (type: string, { content }: { content: CollectedAnswer['content'] }) =>
        content.filter((part) => part.type === type)
      for (const type of ['reasoning', 'tool_call']) assert.deepEqual(of(type, chat), of(type, essence(answer)))
      assert.deepEqual([chat.usage, chat.reason], [answer.usage, answer.finish?.reason])
    }),
  )
})

test('a stream without a finish ends with an error, never normally', () => {
  const half: Chunk[] = [
    { type: 'start', id: 'x', model: 'm' },
    { type: 'text', text: 'Half' },
  ]
  for (const surface of ['compat-a', 'compat-c'] as const) {
    const stream = streamOf(new ChatWriter(about, surface, true), half).toString()
    assert.doesNotMatch(stream, /\[DONE\]|"finish_reason":"stop"/)
    assert.equal(fold(readCut(new ChatReader(), Buffer.from(stream), [9])).error?.kind, 'server_error')
  }
  const stream = streamOf(new MessageWriter(about, 'req'), half).toString()
  assert.doesNotMatch(stream, /message_stop|end_turn/)
  assert.match(stream, /event: error\ndata: \{"type":"error","error":\{"type":"api_error"/)
})
