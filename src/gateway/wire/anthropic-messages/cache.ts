import type { Json } from '../../model/json.ts'

const MOST_MARKS = 4

/** Leaves the last of the marks, four with that of the request itself, in the order in which the vendor reads them: tools, system, messages. */
export function keepLastMarks(groups: Json[][], onRequest: boolean): boolean {
  const most = onRequest ? MOST_MARKS - 1 : MOST_MARKS
  const marked = groups.flat().filter((block) => block['cache_control'] !== undefined)
  for (const block of marked.slice(0, -most)) delete block['cache_control']
  return marked.length <= most
}
