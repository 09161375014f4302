import { excessOf, jsonFault } from '#packages/json-scan/json-text.ts'
import { refuse } from '../errors.ts'

/** The engine's message isn't used, because it quotes the body. */
export const refuseJson = (error: unknown): never =>
  refuse('malformed_json', { message: `The request body isn’t valid JSON: ${jsonFault(error)}.` })

/** More values than any conversation or embeddings input has. */
const MAX_VALUES = 1_000_000

/** Refuses JSON before parsing: 32 MB of tiny values block `JSON.parse`, and the process, for seconds. */
export function checkShape(bytes: Buffer, deepest: number): void {
  const excess = excessOf(bytes, { values: MAX_VALUES, depth: deepest })
  if (excess !== null) refuse('malformed_json', { message: `The request body contains ${excess}.` })
}
