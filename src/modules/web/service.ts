import type { Context } from '#infra/context.ts'
import { implementWith } from '#core/implement.ts'
import { cursorOf, positionOf, wholeAt } from '#core/paging.ts'
import { web } from './contract.ts'
import { fetchPage } from './fetch.ts'
import type { Robots } from './robots.ts'
import { searchWeb } from './search.ts'

/** The providers' maximum per page. */
const MAX = 20

export { createRobots } from './robots.ts'

export interface HasRobots {
  robots: Robots
}

export const webService = implementWith<Context<HasRobots>>()(web, {
  fetch: (ctx, asked) => fetchPage(ctx, ctx.engine.robots, asked),

  async search(ctx, { cursor, limit, provider, ...question }) {
    const filters = { ...question, provider, limit }
    const position = positionOf('web_search', filters, cursor)
    const page = wholeAt(position, 0) ?? 1
    const named = position === null ? provider : (position[1] as typeof provider)
    const found = await searchWeb(ctx, { ...question, page, count: Math.min(limit, MAX) }, named)
    return {
      rows: found.results.slice(0, limit),
      // The next page uses the same provider: another one would repeat and skip results.
      next: found.more ? cursorOf('web_search', filters, [page + 1, found.provider]) : null,
      extra: { provider: found.provider, query: question.query },
    }
  },
})
