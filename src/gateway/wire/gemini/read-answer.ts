import type { Chunk } from '../../model/canonical-request.ts'
import { readStreamFault } from '../faults/faults.ts'
import { isObject } from '../../model/json.ts'
import { ContentReader } from './read-content.ts'

/** A stream without `alt=sse` is a list of chunks. */
export function readAnswer(body: unknown): Chunk[] {
  const reader = new ContentReader()
  const chunks: Chunk[] = []
  for (const piece of Array.isArray(body) ? (body as unknown[]) : [body]) {
    if (!isObject(piece)) {
      const message = 'The provider returned something other than a response.'
      return [...chunks, { type: 'error', error: { kind: 'garbage', message } }]
    }
    if (piece['error']) return [...chunks, { type: 'error', error: readStreamFault(piece['error']) }]
    chunks.push(...reader.read(piece))
  }
  return [...chunks, ...reader.end()]
}
