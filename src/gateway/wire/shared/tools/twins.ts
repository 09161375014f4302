import { isDeepStrictEqual } from 'node:util'
import { refuse } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'
import type { Tool } from '../../../model/canonical-request.ts'
import { longer } from '../cache-marks.ts'

/**
 * Vendors reject two tools of one name. Identical definitions are dropped; a different one is refused, because calls
 * couldn't tell the two apart.
 */
export class UniqueTools {
  readonly #tools = new Map<string, Tool>()
  last: Tool | undefined

  add(tool: Tool, at: string): void {
    const existing = this.#tools.get(tool.name)
    if (existing === undefined) {
      this.#tools.set(tool.name, tool)
      this.last = tool
      return
    }
    const { cache, ...definition } = tool
    const { cache: mark, ...same } = existing
    if (!isDeepStrictEqual(definition, same))
      refuse('invalid_parameter', {
        param: at,
        message: `\`${at}\` is ${JSON.stringify(shorten(tool.name, 100))}, which an earlier tool with a different definition already uses. Tool names must be unique.`,
      })
    const longest = longer(mark, cache)
    if (longest !== undefined) existing.cache = longest
  }

  all(): Tool[] {
    return [...this.#tools.values()]
  }
}
