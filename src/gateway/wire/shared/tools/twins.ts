import { isDeepStrictEqual } from 'node:util'
import { refuse } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'
import type { Tool } from '../../../model/canonical-request.ts'
import { longer } from '../cache-marks.ts'

/**
 * The tools of a request, each name once: vendors refuse a name that two tools have. A repeated definition is dropped, and
 * one that differs is refused with its field, for calls couldn't say which of the two they mean.
 */
export class UniqueTools {
  readonly #tools = new Map<string, Tool>()
  /** The last one that was new. */
  last: Tool | undefined

  add(tool: Tool, at: string): void {
    const known = this.#tools.get(tool.name)
    if (known === undefined) {
      this.#tools.set(tool.name, tool)
      this.last = tool
      return
    }
    const { cache, ...definition } = tool
    const { cache: mark, ...same } = known
    if (!isDeepStrictEqual(definition, same))
      refuse('invalid_parameter', {
        param: at,
        message: `\`${at}\` is ${JSON.stringify(shorten(tool.name, 100))}, like that of an earlier tool with another definition. Tool names must be unique.`,
      })
    const longest = longer(mark, cache)
    if (longest !== undefined) known.cache = longest
  }

  all(): Tool[] {
    return [...this.#tools.values()]
  }
}
