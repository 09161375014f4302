import type { CacheMark, CanonicalPart } from '../../model/canonical-request.ts'
import { isObject, type Json } from '../../model/json.ts'
import type { Losses } from './losses.ts'

type Result = Extract<CanonicalPart, { type: 'tool_result' }>

/** `cache_control` (Anthropic, OpenRouter) or `prompt_cache_breakpoint` (OpenAI). An unknown TTL becomes 5 minutes. */
export function cacheOf(object: Json): CacheMark | undefined {
  const mark = object['cache_control'] ?? object['prompt_cache_breakpoint']
  if (!isObject(mark)) return undefined
  return mark['ttl'] === '1h' || mark['ttl'] === '12h' ? '1h' : '5m'
}

export const longer = (a: CacheMark | undefined, b: CacheMark | undefined): CacheMark | undefined =>
  a === '1h' || b === '1h' ? '1h' : (a ?? b)

const markOf = (part: CanonicalPart): CacheMark | undefined => ('cache' in part ? part.cache : undefined)

/** Vendors accept marks on the result. The whole result is cached then. */
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

/** A mark on the message means the same as one on its last part. */
export function withOuterMark(parts: CanonicalPart[], cache: CacheMark | undefined, losses: Losses): CanonicalPart[] {
  if (cache === undefined) return parts
  const at = parts.findLastIndex(({ type }) => type !== 'reasoning')
  if (at < 0) losses.add('cache_control')
  return parts.map((part, i) => (i === at ? ({ ...part, cache: longer(markOf(part), cache) } as CanonicalPart) : part))
}

export function loseMark(object: Json, losses: Losses): void {
  if (cacheOf(object) !== undefined) losses.add('cache_control')
}
