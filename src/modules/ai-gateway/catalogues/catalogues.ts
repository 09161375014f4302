import type { z } from 'zod'
import { writeAudit } from '#authz/audit.ts'
import type { Context } from '#infra/context.ts'
import { rightsChanged } from '#authz/rights.ts'
import type { Pricing } from '#gateway/catalogue/model.ts'
import { refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import { type Id, idOf, newId } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { iso } from '#core/time.ts'
import { CATALOGUE, type CatalogueRow, type OverrideRow, catalogueStore, overrideStore } from './catalogue-store.ts'
import { type Catalogue, type ModelOverride, catalogues } from '../contract-catalogues.ts'
import { fetchCatalogue } from './fetch-catalogue.ts'
import { isInstanceAdmin } from '../endpoints/administer.ts'
import { pricingOf } from './rows.ts'

const MAX_OVERRIDES = 10_000

interface HasReader {
  endpoints: { refresh(): Promise<void> }
}

export const catalogueService = implementWith<Context<HasReader>>()(catalogues, {
  async list(ctx, { cursor, limit }) {
    requireAdministrator(ctx)
    const before = (positionOf('catalogues', null, cursor)?.[0] as Id) ?? null
    const [rows, newest] = await Promise.all([
      catalogueStore.list(ctx.db, before, limit + 1),
      catalogueStore.list(ctx.db, null, 1),
    ])
    return pageOf(
      rows,
      limit,
      ({ id }) => cursorOf('catalogues', null, [id]),
      (row) => show(row, row.id === newest[0]?.id),
    )
  },

  async refresh(ctx, { dry_run, force }) {
    requireAdministrator(ctx)
    const fetchedCatalogue = await fetchCatalogue(ctx)
    const { row, isNew } = await change(ctx, async (ctx) => {
      await catalogueStore.lock(ctx.db)
      const newest = await catalogueStore.newest(ctx.db)
      if (newest?.sha256 === fetchedCatalogue.sha256) return { row: show(newest, true), isNew: false }
      const next = fetchedCatalogue.against(newest, force)
      const row = { ...next, id: newId(), created_by: ctx.principal.accountId, created_at: ctx.now() }
      if (dry_run) return { row: show(row, false), isNew: false }
      const insertedRow = await catalogueStore.insert(ctx.db, row)
      await tell(ctx, 'catalogue.refreshed', insertedRow.id, {
        source_url: insertedRow.source_url,
        sha256: insertedRow.sha256,
      })
      return { row: show(insertedRow, true), isNew: true }
    })
    if (!isNew) ctx.answer.status = 200
    return row
  },

  async delete(ctx, { id }) {
    requireAdministrator(ctx)
    await change(ctx, async (ctx) => {
      if (!(await catalogueStore.delete(ctx.db, id))) refuse('not_found', { param: 'id' })
      await tell(ctx, 'catalogue.deleted', id, {})
    })
    return { id }
  },

  async overrides(ctx, { cursor, limit }) {
    requireAdministrator(ctx)
    const after = positionOf('model_overrides', null, cursor)?.[0]
    const rows = await overrideStore.list(ctx.db, after === undefined ? null : String(after), limit + 1)
    return pageOf(rows, limit, ({ slug }) => cursorOf('model_overrides', null, [slug]), showOverride)
  },

  async override(ctx, { slug, pricing, context_length, max_output_tokens, note }) {
    requireAdministrator(ctx)
    if (pricing === null && context_length === null && max_output_tokens === null)
      refuse('missing_parameter', {
        param: 'pricing',
        message: 'Send `pricing`, `context_length` or `max_output_tokens`.',
      })
    return change(ctx, async (ctx) => {
      if ((await overrideStore.count(ctx.db)) >= MAX_OVERRIDES)
        refuse('limit_reached', {
          message: `You can have up to ${MAX_OVERRIDES} overrides. Delete one first.`,
          details: { limit: MAX_OVERRIDES },
        })
      const row = await overrideStore.put(ctx.db, {
        slug,
        pricing: pricing && pricingOf(pricing),
        context_length,
        max_output_tokens,
        note,
        created_by: ctx.principal.accountId,
      })
      await tell(ctx, 'model_override.set', idFor(slug), { slug, pricing, context_length, max_output_tokens, note })
      return showOverride(row)
    })
  },

  async remove_override(ctx, { slug }) {
    requireAdministrator(ctx)
    await change(ctx, async (ctx) => {
      if (!(await overrideStore.delete(ctx.db, slug)))
        refuse('not_found', { param: 'slug', message: `There is no override for ${slug}.` })
      await tell(ctx, 'model_override.removed', idFor(slug), { slug })
    })
    return { id: idFor(slug) }
  },
})

/** Runs `work` in a transaction. The change applies in this process on return, in the others within 0.5 s. */
async function change<T>(ctx: Context<HasReader>, work: (ctx: Context) => Promise<T>): Promise<T> {
  const result = await ctx.transaction(work)
  await ctx.engine.endpoints.refresh()
  return result
}

async function tell(ctx: Context, action: string, id: Id, details: Record<string, unknown>): Promise<void> {
  await rightsChanged(ctx.db, [CATALOGUE])
  const type = action.slice(0, action.indexOf('.'))
  await writeAudit(ctx, { action, workspaceId: null, subject: { type, id }, details })
}

function requireAdministrator(ctx: Context): void {
  if (!isInstanceAdmin(ctx))
    refuse('insufficient_role', { message: 'Only an administrator of this instance can do this.' })
}

const idFor = (slug: string): Id => idOf('model override', slug)

const show = (row: CatalogueRow, serving: boolean): z.output<typeof Catalogue> => ({
  id: row.id,
  created_at: iso(row.created_at),
  created_by: row.created_by,
  source_url: row.source_url,
  sha256: row.sha256,
  models_count: row.models_count,
  priced_count: row.priced_count,
  changes: row.changes as z.output<typeof Catalogue>['changes'],
  serving,
})

const showOverride = (row: OverrideRow): z.output<typeof ModelOverride> => ({
  id: idFor(row.slug),
  slug: row.slug,
  pricing: row.pricing === null ? null : pricesIn(row.pricing as Pricing),
  context_length: row.context_length,
  max_output_tokens: row.max_output_tokens,
  note: row.note,
  created_by: row.created_by,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** Excludes `audio_unit` and `variants`, which aren't prices. */
const pricesIn = (pricing: Pricing): Record<string, number> =>
  Object.fromEntries(
    Object.entries(pricing).flatMap(([bucket, price]) =>
      bucket !== 'audio_unit' && typeof price === 'string' ? [[bucket, Number(price)]] : [],
    ),
  )
