import { type HasEndpoints, rowOfCatalogue } from '#areas/ai-gateway/service.ts'
import type { Context } from '#engine/context.ts'
import type { Catalogue } from '#gateway/catalogue/catalogue.ts'
import { refuse } from '#kernel/errors.ts'
import { parseId } from '#kernel/ids.ts'
import { implementWith } from '#kernel/implement.ts'
import { cursorOf, pageOf, positionOf } from '#kernel/paging.ts'
import { models } from './contract.ts'
import { search } from './search.ts'
import { type ShownModel, showModel } from './show.ts'

type Wanted = ShownModel['status'] | 'all'

export const modelService = implementWith<Context<HasEndpoints>>()(models, {
  async list(ctx, { status, cursor, limit }) {
    const all = (await modelsOf(ctx, status)).toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
    const filters = { accountId: ctx.principal.accountId, status }
    const after = positionOf('models', filters, cursor)?.[0]
    const left = after === undefined ? all : all.filter(({ slug }) => slug > String(after))
    return pageOf(
      left.slice(0, limit + 1),
      limit,
      ({ slug }) => cursorOf('models', filters, [slug]),
      (model) => model,
    )
  },

  async search(ctx, { status, offset, limit, q, ...filters }) {
    const found = search(await modelsOf(ctx, status), { q, ...filters })
    const applied = Object.entries({ ...filters, ...(status !== 'available' && { status }) })
    return {
      items: found.slice(offset, offset + limit),
      total_count: found.length,
      query: q ?? null,
      applied_filters: Object.fromEntries(applied.filter(([, value]) => value !== undefined)),
    }
  },

  async get(ctx, { id }) {
    const ulid = parseId(id)
    const mine = await modelsOf(ctx, 'available')
    const found =
      mine.find((model) => model.slug === id || model.id === ulid) ??
      (await modelsOf(ctx, 'no_provider')).find((model) => model.slug === id || model.id === ulid)
    return (
      found ??
      (await byBareName(ctx, id)) ??
      refuse('not_found', { param: 'id', message: `There is no model ${id} here.` })
    )
  },
})

/** `claude-sonnet-5`, where one answer is left. */
async function byBareName(ctx: Context<HasEndpoints>, name: string): Promise<ShownModel | null> {
  const rows = (await ctx.engine.endpoints.offers(ctx.principal, name)).filter(({ kind }) => kind === 'text')
  const [row] = rows
  return row && rows.every(({ slug }) => slug === row.slug) ? showModel(row, row.endpoint.slug, 'available') : null
}

/** Models that the caller can call now, and those that the catalogue knows beside them. */
async function modelsOf(ctx: Context<HasEndpoints>, wanted: Wanted): Promise<ShownModel[]> {
  const served = (await ctx.engine.endpoints.models(ctx.principal)).filter(({ kind }) => kind === 'text')
  const available = served.map((row) => showModel(row, row.endpoint.slug, 'available'))
  if (wanted === 'available') return available
  const slugs = new Set(available.map(({ slug }) => slug))
  const others = unserved(ctx.engine.endpoints.catalogue()).filter(({ slug }) => !slugs.has(slug))
  return wanted === 'no_provider' ? others : [...available, ...others]
}

const shown = new WeakMap<Catalogue, ShownModel[]>()
/** The catalogue as nobody serves it. */
function unserved(catalogue: Catalogue): ShownModel[] {
  const known = shown.get(catalogue)
  if (known) return known
  const all = [...catalogue.byProvider].flatMap(([provider, models]) =>
    models
      .filter(({ kind }) => kind === 'text')
      .map((model) => showModel(rowOfCatalogue(model, catalogue), provider, 'no_provider')),
  )
  shown.set(catalogue, all)
  return all
}
