import type { CacheMark } from '../../model/canonical-request.ts'
import { isObject, type Json } from '../../model/json.ts'

export function cacheOf(block: Json): CacheMark | undefined {
  const mark = block['cache_control']
  if (!isObject(mark)) return undefined
  return mark['ttl'] === '1h' ? '1h' : '5m'
}

const MOST_MARKS = 4

/** Leaves the last four of the marks, in the order in which the vendor reads them: tools, system, messages. */
export function keepLastMarks(groups: Json[][]): boolean {
  const marked = groups.flat().filter((block) => block['cache_control'] !== undefined)
  for (const block of marked.slice(0, -MOST_MARKS)) delete block['cache_control']
  return marked.length <= MOST_MARKS
}
