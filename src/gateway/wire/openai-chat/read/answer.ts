import type { Chunk } from '../../../model/canonical-request.ts'
import { readStreamFault } from '../../faults/faults.ts'
import { isObject } from '../../../model/json.ts'
import { MessageReader } from './message.ts'

/** An error in a 200, or anything else, becomes an `error` chunk. */
export function readAnswer(body: unknown): Chunk[] {
  if (!isObject(body)) {
    return [
      {
        type: 'error',
        error: { kind: 'garbage', message: 'The provider returned something other than a completion.' },
      },
    ]
  }
  if (body['error']) return [{ type: 'error', error: readStreamFault(body['error']) }]
  const reader = new MessageReader()
  return [...reader.read(body), ...reader.end(true)]
}
