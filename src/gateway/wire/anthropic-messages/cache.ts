import type { Json } from '../../model/json.ts'

const MAX_MARKS = 4

/**
 * Up to four including that of the request itself, in the order in which the vendor reads them: tools, system,
 * messages.
 */
export function keepLastMarks(groups: Json[][], onRequest: boolean): boolean {
  const most = onRequest ? MAX_MARKS - 1 : MAX_MARKS
  const markedBlocks = groups.flat().filter((block) => block['cache_control'] !== undefined)
  for (const block of markedBlocks.slice(0, -most)) delete block['cache_control']
  return markedBlocks.length <= most
}

const hasLife = (block: Json, life: '1h' | '5m'): boolean =>
  block['cache_control'] !== undefined && ((block['cache_control'] as Json)['ttl'] === '1h') === (life === '1h')

/**
 * The vendor rejects a one-hour mark after a five-minute mark in that order, so the later one becomes five minutes.
 * Returns whether no mark changed. `last` is the mark of the request itself, which applies to the last block.
 */
export function orderMarks(groups: Json[][], last: Json | undefined): boolean {
  const blocks = groups.flat()
  const short = blocks.findIndex((block) => hasLife(block, '5m'))
  if (short === -1) return true
  const late = [...blocks.slice(short), ...(last === undefined ? [] : [{ cache_control: last }])].filter((block) =>
    hasLife(block, '1h'),
  )
  for (const block of late) delete (block['cache_control'] as Json)['ttl']
  return late.length === 0
}
