import type { CacheMark, CanonicalPart } from '../../model/canonical-request.ts'
import { isObject, type Json } from '../../model/json.ts'
import type { Losses } from './losses.ts'

type Result = Extract<CanonicalPart, { type: 'tool_result' }>

/**
 * The mark on an object of a request: `cache_control` as Anthropic and OpenRouter write it, or OpenAI's
 * `prompt_cache_breakpoint`. Lives that are not known become 5 minutes.
 */
export function cacheOf(object: Json): CacheMark | undefined {
  const mark = object['cache_control'] ?? object['prompt_cache_breakpoint']
  if (!isObject(mark)) return undefined
  return mark['ttl'] === '1h' || mark['ttl'] === '12h' ? '1h' : '5m'
}

export const longer = (a: CacheMark | undefined, b: CacheMark | undefined): CacheMark | undefined =>
  a === '1h' || b === '1h' ? '1h' : (a ?? b)

const markOf = (part: CanonicalPart): CacheMark | undefined => ('cache' in part ? part.cache : undefined)

/** A result with the mark of a part inside it: vendors take marks on the result, and all of it is cached then. */
export function withInnerMark(result: Result): Result {
  const cache = result.content.reduce((mark, part) => longer(mark, markOf(part)), result.cache)
  if (cache === undefined) return result
  return {
    ...result,
    cache,
    content: result.content.map((part) => {
      if (markOf(part) === undefined) return part
      const { cache: _, ...plain } = part as Extract<CanonicalPart, { cache?: CacheMark }>
      return plain
    }),
  }
}

/** The parts of a message with the mark on the message itself, which stands for one on its last part. */
export function withOuterMark(parts: CanonicalPart[], cache: CacheMark | undefined, losses: Losses): CanonicalPart[] {
  if (cache === undefined) return parts
  const at = parts.findLastIndex(({ type }) => type !== 'reasoning')
  if (at < 0) losses.add('cache_control')
  return parts.map((part, i) => (i === at ? ({ ...part, cache: longer(markOf(part), cache) } as CanonicalPart) : part))
}

/** Names the mark on an object that isn't sent itself. */
export function loseMark(object: Json, losses: Losses): void {
  if (cacheOf(object) !== undefined) losses.add('cache_control')
}
