import { type Context, type Engine, implement } from '#engine/context.ts'
import { cursorOf, positionOf, wholeAt } from '#kernel/paging.ts'
import { web } from './contract.ts'
import { fetchPage } from './fetch.ts'
import { type Robots, createRobots } from './robots.ts'
import { searchWeb } from './search.ts'

/** Providers give no more than this at once. */
const MOST = 20

/** What sites said of themselves, per server. */
const robots = new WeakMap<Engine, Robots>()
function robotsOf({ engine }: Context): Robots {
  const known = robots.get(engine) ?? createRobots(engine.outside)
  robots.set(engine, known)
  return known
}

export const webService = implement(web, {
  fetch: (ctx, asked) => fetchPage(ctx, robotsOf(ctx), asked),

  async search(ctx, { cursor, limit, provider, ...question }) {
    const filters = { ...question, provider, limit }
    const position = positionOf('web_search', filters, cursor)
    const page = wholeAt(position, 0) ?? 1
    const named = position === null ? provider : (position[1] as typeof provider)
    const found = await searchWeb(ctx, { ...question, page, count: Math.min(limit, MOST) }, named)
    return {
      rows: found.results.slice(0, limit),
      // The next page is the same provider's: another one's would repeat and leave out.
      next: found.more ? cursorOf('web_search', filters, [page + 1, found.provider]) : null,
      extra: { provider: found.provider, query: question.query },
    }
  },
})
