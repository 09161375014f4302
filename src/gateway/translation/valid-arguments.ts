import type { Chunk } from '../model/canonical-request.ts'
import { ArgumentsReader } from '../wire/parts/arguments.ts'
import type { ChunkStep } from './chunk-step.ts'

/** Makes the arguments of each call a JSON object. */
export class ValidArguments implements ChunkStep {
  readonly #readers = new Map<string, ArgumentsReader>()

  push(chunk: Chunk, next: (chunk: Chunk) => void): void {
    if (chunk.type === 'tool_call_start') this.#readers.set(chunk.id, new ArgumentsReader())
    if (chunk.type !== 'tool_call_delta' && chunk.type !== 'tool_call_end') return next(chunk)
    const { id } = chunk
    const reader = this.#readers.get(id)
    const delta = chunk.type === 'tool_call_end' ? reader?.end() : (reader?.push(chunk.delta) ?? chunk.delta)
    if (delta) next({ type: 'tool_call_delta', id, delta })
    if (chunk.type !== 'tool_call_end') return
    this.#readers.delete(id)
    next(chunk)
  }
}
