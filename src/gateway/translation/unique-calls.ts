import { newId } from '#core/ids.ts'
import type { CanonicalMessage, Chunk } from '../model/canonical-request.ts'
import { signsCall } from '../wire/parts/gemini-signature.ts'

/**
 * Gives calls an ID that their conversation has not used yet. Some model servers count from 0 in every answer, and clients
 * pair calls with results by their IDs alone.
 */
export async function* withUniqueCalls(
  chunks: AsyncIterable<Chunk>,
  messages: readonly CanonicalMessage[],
): AsyncGenerator<Chunk, void, undefined> {
  const used = new Set(
    messages.flatMap(({ content }) => content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))),
  )
  /** The IDs of this answer's calls, by those that the provider gave. */
  const ids = new Map<string, string>()
  /** Calls whose signature came before they did. */
  const announced = new Set<string>()
  const begin = (id: string): string => {
    const unique = used.has(id) ? `call_${newId()}` : id
    used.add(unique)
    ids.set(id, unique)
    return unique
  }
  for await (const chunk of chunks)
    switch (chunk.type) {
      case 'reasoning_end': {
        const { id } = chunk
        if (id === undefined || !signsCall(chunk)) yield chunk
        else {
          // Mostly the signature of a call stands in front of it.
          if (!ids.has(id)) announced.add(id)
          yield { ...chunk, id: ids.get(id) ?? begin(id) }
        }
        break
      }
      case 'tool_call_start':
        yield { ...chunk, id: announced.delete(chunk.id) ? ids.get(chunk.id)! : begin(chunk.id) }
        break
      case 'tool_call_delta':
      case 'tool_call_end':
        yield { ...chunk, id: ids.get(chunk.id) ?? chunk.id }
        break
      default:
        yield chunk
    }
}
