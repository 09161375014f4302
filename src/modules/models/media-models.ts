import type { z } from 'zod'
import { type HasEndpoints, type Row, rowOfCatalogue } from '#modules/ai-gateway/service.ts'
import type { Context } from '#infra/context.ts'
import { type Speaker, keyOf, speedsOf } from '#infra/ledger/calls/speeds.ts'
import type { MediaKind } from '#gateway/catalogue/media.ts'
import type { Catalogue } from '#gateway/catalogue/catalogue.ts'
import { priceOfOne } from '#gateway/catalogue/price-of-one.ts'
import type { AudioModel, ImageModel, VideoModel } from './contract-media.ts'
import { type ModelRow, type ShownModel, showModel } from './show.ts'

export interface Found<T> {
  shown: T
  /** USD per unit it generates or reads. */
  priceOfOne: number | null
}

export type ShownImage = z.output<typeof ImageModel>
export type ShownVideo = z.output<typeof VideoModel>
export type ShownAudio = z.output<typeof AudioModel>

/** Models of these kinds that the caller can use now, those known from the catalog only, or all. */
export async function mediaModelsOf(
  ctx: Context<HasEndpoints>,
  kinds: readonly MediaKind[],
  wanted: ShownModel['status'] | 'all',
): Promise<{ row: ModelRow; shown: ShownModel; speaker: Speaker | null }[]> {
  const isMeant = ({ media }: ModelRow): boolean => media !== undefined && kinds.includes(media.kind)
  const served = (await ctx.engine.endpoints.mediaModels(ctx.principal)).filter(isMeant)
  const available = served.map((row) => ({
    row,
    shown: showMedia(row, row.endpoint.slug, 'available'),
    speaker: speakerOf(row),
  }))
  if (wanted === 'available') return available
  const { endpoints } = ctx.engine
  const failing = (await endpoints.failingModels(ctx.principal)).filter(isMeant).map((row) => ({
    row,
    shown: showMedia(row, row.endpoint.slug, 'failing', endpoints.failing(row.endpoint)),
    speaker: speakerOf(row),
  }))
  if (wanted === 'failing') return failing
  const slugs = new Set([...available, ...failing].map(({ row }) => row.slug))
  const others = unserved(endpoints.catalogue())
    .filter(({ row }) => isMeant(row) && !slugs.has(row.slug))
    .map((one) => ({ ...one, speaker: null }))
  return wanted === 'no_provider' ? others : [...available, ...failing, ...others]
}

const speakerOf = ({ endpoint, slug }: Row): Speaker => ({ endpointId: endpoint.id, model: slug })

const known = new WeakMap<Catalogue, { row: ModelRow; shown: ShownModel }[]>()
function unserved(catalogue: Catalogue): { row: ModelRow; shown: ShownModel }[] {
  const before = known.get(catalogue)
  if (before) return before
  const all = [...catalogue.byProvider].flatMap(([provider, models]) =>
    models
      .map((model) => rowOfCatalogue(model, catalogue))
      .filter(({ media }) => media !== undefined)
      .map((row) => ({ row, shown: showMedia(row, provider, 'no_provider') })),
  )
  known.set(catalogue, all)
  return all
}

const showMedia = (
  row: ModelRow,
  provider: string,
  status: ShownModel['status'],
  reason: string | null = null,
): ShownModel => showModel({ ...row, pricing: row.media!.pricing }, provider, status, reason)

type Listed = Awaited<ReturnType<typeof mediaModelsOf>>[number]

const found = <T>({ row }: Listed, shown: T): Found<T> => ({
  shown,
  priceOfOne: priceOfOne(row.media!.kind, row.media!.pricing),
})

export function showImage(model: Listed): Found<ShownImage>[] {
  const { abilities } = model.row.media!
  if (abilities.kind !== 'image') return []
  const { sizes, ...can } = abilities
  return [found(model, { ...model.shown, ...can, sizes: [...sizes] })]
}

export function showVideo(model: Listed): Found<ShownVideo>[] {
  const { abilities } = model.row.media!
  if (abilities.kind !== 'video') return []
  const { modes, resolutions, seconds, ...can } = abilities
  return [
    found(model, { ...model.shown, ...can, modes: [...modes], resolutions: [...resolutions], seconds: [...seconds] }),
  ]
}

export async function showAudio(ctx: Context, models: readonly Listed[]): Promise<Found<ShownAudio>[]> {
  const speakers = models.flatMap(({ row, speaker }) => (row.media!.kind === 'speech' && speaker ? [speaker] : []))
  const speeds = await speedsOf(ctx.db, speakers)
  return models.flatMap((model) => {
    const { abilities } = model.row.media!
    if (abilities.kind === 'image' || abilities.kind === 'video') return []
    const { formats, languages, ...can } = abilities
    const speed = (model.speaker && speeds.get(keyOf(model.speaker))) ?? null
    return [found(model, { ...model.shown, ...can, formats: [...formats], languages: [...languages], speed })]
  })
}
