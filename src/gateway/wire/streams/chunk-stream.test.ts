import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chunk } from '../../model/canonical-request.ts'
import { StreamReader as MessageReader } from '../anthropic-messages/read/stream.ts'
import { StreamReader as ConverseReader } from '../converse/read.ts'
import { StreamReader as GeminiReader } from '../gemini/read-stream.ts'
import { StreamReader as ChatReader } from '../openai-chat/read/stream.ts'
import { StreamReader as ResponsesReader } from '../openai-responses/read-stream.ts'

const readers = { ChatReader, ConverseReader, GeminiReader, MessageReader, ResponsesReader }

const last = (chunks: readonly Chunk[]): string | null => {
  const chunk = chunks.at(-1)
  return chunk?.type === 'error' ? chunk.error.message : null
}

for (const [name, Reader] of Object.entries(readers)) {
  test(`${name}: events without content end the stream once there are more than any provider sends`, () => {
    const reader = new Reader()
    const events = Buffer.from('event: x\ndata: {"choices":[{"delta":{}}]}\n\n'.repeat(1_000))
    const chunks: Chunk[] = []
    let eventCount = 0
    for (; eventCount < 400 && last(chunks) === null; eventCount++) chunks.push(...reader.feed(events))
    assert.equal(last(chunks), 'The provider sent more than 300000 events without content.')
    assert.equal(eventCount, 301)
    assert.ok(chunks.length < 5, 'nothing of them is kept')
  })

  test(`${name}: an event with too many values or too much nesting is refused before it is parsed`, () => {
    for (const [text, excess] of [
      [`{"x":[${'{},'.repeat(300_000)}1]}`, 'more than 200000 values'],
      [`{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'JSON nested more than 512 levels deep'],
    ])
      assert.equal(
        last(new Reader().feed(Buffer.from(`event: x\ndata: ${text}\n\n`))),
        `The provider sent an event with ${excess}.`,
      )
  })
}
