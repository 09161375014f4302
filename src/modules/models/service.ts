import { type HasEndpoints, rowOfCatalogue } from '#modules/ai-gateway/service.ts'
import type { Context } from '#infra/context.ts'
import type { Catalogue } from '#gateway/catalogue/catalogue.ts'
import { noSuchModel, visibleModels } from '#gateway/routing/model-names/unknown-model.ts'
import { refuse } from '#core/errors.ts'
import { parseId } from '#core/ids.ts'
import { implementWith } from '#core/implement.ts'
import { models } from './contract.ts'
import { pageBySlug, resultsOf } from './lists.ts'
import { search } from './search.ts'
import { type ShownModel, showModel } from './show.ts'

export { audioService, imageService, videoService } from './media-service.ts'

type Wanted = ShownModel['status'] | 'all'

export const modelService = implementWith<Context<HasEndpoints>>()(models, {
  async list(ctx, { status, cursor, limit }) {
    return pageBySlug('models', ctx.principal, { status }, await modelsOf(ctx, status), { cursor, limit })
  },

  async search(ctx, { status, offset, limit, q, ...filters }) {
    return resultsOf(
      search(await modelsOf(ctx, status), { q, ...filters }),
      { offset, limit, q },
      { ...filters, status },
    )
  },

  async get(ctx, { id }) {
    const ulid = parseId(id)
    const all = await modelsOf(ctx, 'all')
    const found = all.find((model) => model.slug === id || model.id === ulid) ?? (await byBareName(ctx, id))
    if (found !== null) return found
    const { endpoints } = ctx.engine
    return refuse('not_found', { param: 'id', message: noSuchModel(id, await visibleModels(endpoints, ctx.principal)) })
  },
})

/** Finds `claude-sonnet-5` without its provider, if unambiguous. */
async function byBareName(ctx: Context<HasEndpoints>, name: string): Promise<ShownModel | null> {
  const rows = (await ctx.engine.endpoints.offers(ctx.principal, name)).filter(({ kind }) => kind === 'text')
  const [row] = rows
  return row && rows.every(({ slug }) => slug === row.slug) ? showModel(row, row.endpoint.slug, 'available') : null
}

/** Models the caller can use now, those with failing endpoints, and those known from the catalog only. */
async function modelsOf(ctx: Context<HasEndpoints>, wanted: Wanted): Promise<ShownModel[]> {
  const served = (await ctx.engine.endpoints.models(ctx.principal)).filter(({ kind }) => kind === 'text')
  const available = served.map((row) => showModel(row, row.endpoint.slug, 'available'))
  if (wanted === 'available') return available
  const { endpoints } = ctx.engine
  const failing = (await endpoints.failingModels(ctx.principal))
    .filter(({ kind }) => kind === 'text')
    .map((row) => showModel(row, row.endpoint.slug, 'failing', endpoints.failing(row.endpoint)))
  if (wanted === 'failing') return failing
  const slugs = new Set([...available, ...failing].map(({ slug }) => slug))
  const others = unserved(endpoints.catalogue()).filter(({ slug }) => !slugs.has(slug))
  return wanted === 'no_provider' ? others : [...available, ...failing, ...others]
}

const shown = new WeakMap<Catalogue, ShownModel[]>()
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
