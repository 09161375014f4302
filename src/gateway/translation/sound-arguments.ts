import type { Chunk } from '../model/canonical-request.ts'
import { ArgumentsReader } from '../wire/parts/arguments.ts'

export async function* withSoundArguments(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk, void, undefined> {
  const readers = new Map<string, ArgumentsReader>()
  for await (const chunk of chunks) {
    if (chunk.type === 'tool_call_start') readers.set(chunk.id, new ArgumentsReader())
    if (chunk.type !== 'tool_call_delta' && chunk.type !== 'tool_call_end') {
      yield chunk
      continue
    }
    const reader = readers.get(chunk.id)
    const delta = chunk.type === 'tool_call_end' ? reader?.end() : (reader?.push(chunk.delta) ?? chunk.delta)
    if (delta) yield { type: 'tool_call_delta', id: chunk.id, delta }
    if (chunk.type === 'tool_call_end') {
      readers.delete(chunk.id)
      yield chunk
    }
  }
}
