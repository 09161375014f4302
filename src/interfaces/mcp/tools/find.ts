import { scopeOf } from '#core/access.ts'
import type { Card, Catalogue } from '../catalogue/catalogue.ts'
import type { AgentCaller } from './door.ts'

/** Number of inaccessible endpoints to name. */
const MAX_LACKING = 3

/**
 * Finds endpoints. Those outside the key's scopes are excluded so models don't try them; the best ones are named
 * separately with the missing scope.
 */
export function find(catalogue: Catalogue, caller: AgentCaller, query: string, limit: number): Record<string, unknown> {
  const ranked = catalogue.rank(query)
  const may = (card: Card): boolean => caller.may(scopeOf(card.listed.endpoint.access))
  const allowed = ranked.filter(may)
  const shown = allowed.slice(0, limit)
  return {
    data: shown.map(({ name, listed, arguments: outline }) => ({
      name,
      summary: listed.endpoint.summary,
      scope: scopeOf(listed.endpoint.access),
      arguments: outline(),
    })),
    total_count: allowed.length,
    has_more: allowed.length > shown.length,
    lacking_scope: ranked
      .slice(0, limit)
      .filter((card) => !may(card))
      .slice(0, MAX_LACKING)
      .map(({ name, listed }) => ({ name, scope: scopeOf(listed.endpoint.access) })),
    ...(ranked.length === 0 && { areas: areasOf(catalogue, caller) }),
  }
}

/** All areas, for an empty query or one without results. */
function areasOf({ cards }: Catalogue, caller: AgentCaller): object[] {
  const groups = Map.groupBy(
    cards.filter(({ listed }) => caller.may(scopeOf(listed.endpoint.access))),
    ({ listed }) => listed.area,
  )
  return [...groups].map(([{ name, summary }, own]) => ({
    name,
    summary,
    endpoints: own.map(({ listed }) => listed.verb),
  }))
}
