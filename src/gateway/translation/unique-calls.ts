import { newId } from '#core/ids.ts'
import type { CanonicalMessage, Chunk } from '../model/canonical-request.ts'
import { signsCall } from '../wire/parts/gemini-signature.ts'

/** Some model servers count from 0 in every answer, and clients pair calls with results by ID alone. */
export async function* withUniqueCalls(
  chunks: AsyncIterable<Chunk>,
  messages: readonly CanonicalMessage[],
): AsyncGenerator<Chunk, void, undefined> {
  const usedIds = new Set(
    messages.flatMap(({ content }) => content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))),
  )
  /** Maps the provider's IDs of this answer's calls to the unique ones. */
  const ids = new Map<string, string>()
  const announcedIds = new Set<string>()
  const begin = (id: string): string => {
    const unique = usedIds.has(id) ? `call_${newId()}` : id
    usedIds.add(unique)
    ids.set(id, unique)
    return unique
  }
  for await (const chunk of chunks)
    switch (chunk.type) {
      case 'reasoning_end': {
        const { id } = chunk
        if (id === undefined || !signsCall(chunk)) yield chunk
        else {
          // Usually the signature of a call precedes it.
          if (!ids.has(id)) announcedIds.add(id)
          yield { ...chunk, id: ids.get(id) ?? begin(id) }
        }
        break
      }
      case 'tool_call_start':
        yield { ...chunk, id: announcedIds.delete(chunk.id) ? ids.get(chunk.id)! : begin(chunk.id) }
        break
      case 'tool_call_delta':
      case 'tool_call_end':
        yield { ...chunk, id: ids.get(chunk.id) ?? chunk.id }
        break
      default:
        yield chunk
    }
}
