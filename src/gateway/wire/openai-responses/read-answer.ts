import type { Chunk } from '../../model/canonical-request.ts'
import { readStreamFault } from '../faults/faults.ts'
import { isObject } from '../../model/json.ts'
import { ItemReader } from './read-items.ts'

/** Anything but a response becomes an `error` chunk. */
export function readAnswer(body: unknown): Chunk[] {
  if (isObject(body) && Array.isArray(body['output'])) return new ItemReader().over(body)
  const error = isObject(body) && body['error'] ? readStreamFault(body['error']) : null
  const message = 'The provider returned something other than a response.'
  return [{ type: 'error', error: error ?? { kind: 'garbage', message } }]
}
