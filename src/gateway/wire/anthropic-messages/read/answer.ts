import type { Chunk } from '../../../model/canonical-request.ts'
import { readStreamFault } from '../../faults/faults.ts'
import { isObject, listOf, textOf } from '../../../model/json.ts'
import { readFinish } from '../finish.ts'
import { BlockReader } from './blocks.ts'
import { readUsage } from '../usage.ts'

/** An error in a 200, or anything else, becomes an `error` chunk. */
export function readAnswer(body: unknown): Chunk[] {
  if (isObject(body) && body['error']) return [{ type: 'error', error: readStreamFault(body['error']) }]
  if (!isObject(body) || !Array.isArray(body['content'])) {
    return [
      {
        type: 'error',
        error: { kind: 'garbage', message: 'The provider returned something other than a message.' },
      },
    ]
  }
  const blocks = new BlockReader()
  const content = listOf(body['content']).flatMap((block, i) => [...blocks.start(i, block), ...blocks.stop(i)])
  const usage = readUsage(body['usage'])
  return [
    { type: 'start', id: textOf(body['id']), model: textOf(body['model']) },
    ...content,
    ...(usage ? [{ type: 'usage' as const, ...usage }] : []),
    readFinish(textOf(body['stop_reason']) || 'end_turn', body['stop_sequence'], blocks.calls > 0),
  ]
}
