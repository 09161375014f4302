import type { CacheMark } from '../../../model/canonical-request.ts'
import { isObject, type Json } from '../../../model/json.ts'

/** OpenRouter's `cache_control` or OpenAI's `prompt_cache_breakpoint` on a part; lives that we do not know become 5 minutes. */
export function cacheOf(part: Json): CacheMark | undefined {
  const mark = part['cache_control'] ?? part['prompt_cache_breakpoint']
  if (!isObject(mark)) return undefined
  return mark['ttl'] === '1h' || mark['ttl'] === '12h' ? '1h' : '5m'
}
