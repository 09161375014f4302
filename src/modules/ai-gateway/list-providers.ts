import type { Context } from '#infra/context.ts'
import type { HealthView } from '#gateway/routing/health.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import type { HasEndpoints } from './directory/has-endpoints.ts'
import { administers, isInstanceAdmin } from './endpoints/administer.ts'
import { showProvider } from './show.ts'

export async function listProviders(
  ctx: Context<HasEndpoints & { providerHealth: HealthView }>,
  { cursor, limit }: { cursor?: string | undefined; limit: number },
) {
  const { endpoints, providerHealth } = ctx.engine
  const { principal } = ctx
  const all = [
    ...(await endpoints.models(principal)),
    ...(await endpoints.mediaModels(principal)),
    ...(await endpoints.failingModels(principal)),
  ]
  const byEndpoint = Map.groupBy(all, ({ endpoint }) => endpoint.id)
  const sources = (await endpoints.sources(principal))
    // Undiscovered local engines are hidden.
    .filter(({ from, endpoint }) => from !== 'discovered' || byEndpoint.has(endpoint.id))
  const standings = await endpoints.standings(sources)
  const providerList = sources
    .map((source, i) =>
      showProvider(
        source,
        byEndpoint.get(source.endpoint.id) ?? [],
        standings[i]!,
        { administersInstance: isInstanceAdmin(ctx), administers: administers(ctx, source.ownerId) },
        providerHealth,
      ),
    )
    .toSorted((a, b) => compare(keyOf(a), keyOf(b)))
  const after = positionOf('providers', principal.accountId, cursor)?.[0]
  const remaining =
    after === undefined ? providerList : providerList.filter((provider) => compare(keyOf(provider), String(after)) > 0)
  return pageOf(
    remaining.slice(0, limit + 1),
    limit,
    (last) => cursorOf('providers', principal.accountId, [keyOf(last)]),
    (row) => row,
  )
}

const keyOf = ({ slug, id }: { slug: string; id: Id }): string => `${slug} ${id}`
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
