import type { Json } from '../../model/json.ts'

const MOST_MARKS = 4

/** Leaves the last of the marks, four with that of the request itself, in the order in which the vendor reads them: tools, system, messages. */
export function keepLastMarks(groups: Json[][], onRequest: boolean): boolean {
  const most = onRequest ? MOST_MARKS - 1 : MOST_MARKS
  const marked = groups.flat().filter((block) => block['cache_control'] !== undefined)
  for (const block of marked.slice(0, -most)) delete block['cache_control']
  return marked.length <= most
}

const hasLife = (block: Json, life: '1h' | '5m'): boolean =>
  block['cache_control'] !== undefined && ((block['cache_control'] as Json)['ttl'] === '1h') === (life === '1h')

/**
 * The vendor refuses a mark of an hour behind one of five minutes, in the order in which it reads them: the later one gets five
 * minutes too. Answers whether none had to change. `last`: the mark of the request itself, which stands for the last block.
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
