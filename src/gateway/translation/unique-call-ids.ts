import { newId } from '#core/ids.ts'
import type { CanonicalMessage, Chunk } from '../model/canonical-request.ts'
import { signsCall } from '../wire/parts/gemini-signature.ts'
import type { ChunkStep } from './chunk-step.ts'

/** Some model servers count from 0 in every answer, and clients pair calls with results by ID alone. */
export class UniqueCallIds implements ChunkStep {
  readonly #usedIds: Set<string>
  /** Maps the provider's IDs of this answer's calls to the unique ones. */
  readonly #ids = new Map<string, string>()
  readonly #announcedIds = new Set<string>()

  constructor(messages: readonly CanonicalMessage[]) {
    this.#usedIds = new Set(
      messages.flatMap(({ content }) => content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))),
    )
  }

  push(chunk: Chunk, next: (chunk: Chunk) => void): void {
    switch (chunk.type) {
      case 'reasoning_end': {
        const { id } = chunk
        if (id === undefined || !signsCall(chunk)) return next(chunk)
        // Usually the signature of a call precedes it.
        if (!this.#ids.has(id)) this.#announcedIds.add(id)
        return next({ ...chunk, id: this.#ids.get(id) ?? this.#begin(id) })
      }
      case 'tool_call_start':
        return next({
          ...chunk,
          id: this.#announcedIds.delete(chunk.id) ? this.#ids.get(chunk.id)! : this.#begin(chunk.id),
        })
      case 'tool_call_delta':
      case 'tool_call_end':
        return next({ ...chunk, id: this.#ids.get(chunk.id) ?? chunk.id })
      default:
        next(chunk)
    }
  }

  #begin(id: string): string {
    const unique = this.#usedIds.has(id) ? `call_${newId()}` : id
    this.#usedIds.add(unique)
    this.#ids.set(id, unique)
    return unique
  }
}
