import type { Found, ShownAudio, ShownImage, ShownVideo } from './media-models.ts'
import { hasWords, sortedBy, speaks } from './lists.ts'
import type { ShownModel } from './show.ts'

interface MediaFilters<S extends string> {
  q?: string | undefined
  provider?: string | undefined
  max_price?: number | undefined
  sort?: S | undefined
  order?: 'asc' | 'desc' | undefined
}

export interface ImageFilters extends MediaFilters<'price' | 'name'> {
  tier?: ShownImage['tier'] | undefined
}

export interface VideoFilters extends MediaFilters<'price' | 'name'> {
  mode?: ShownVideo['modes'][number] | undefined
  resolution?: string | undefined
  audio?: boolean | undefined
}

export interface AudioFilters extends MediaFilters<'speed' | 'price' | 'name'> {
  kind?: ShownAudio['kind'] | undefined
  language?: string | undefined
  min_speed?: number | undefined
}

/** Filters and sorts models. A model with an unknown value doesn't match a filter on it. */
function searched<T extends ShownModel>(
  models: readonly Found<T>[],
  { q, provider, max_price, sort = 'name', order }: MediaFilters<string>,
  passes: (shown: T) => boolean,
  speed: (shown: T) => number | null = () => null,
): T[] {
  const left = models.filter(
    ({ shown, priceOfOne }) =>
      hasWords(`${shown.slug} ${shown.name}`, q) &&
      (provider === undefined || shown.provider === provider) &&
      (max_price === undefined || (priceOfOne !== null && priceOfOne <= max_price)) &&
      passes(shown),
  )
  const rows = left.map(({ shown, priceOfOne }) => ({ slug: shown.slug, shown, priceOfOne }))
  const descending = (order ?? (sort === 'speed' ? 'desc' : 'asc')) === 'desc'
  const key = (row: (typeof rows)[number]): number | string | null =>
    sort === 'price' ? row.priceOfOne : sort === 'speed' ? speed(row.shown) : row.shown.name.toLowerCase()
  return sortedBy(rows, key, descending).map(({ shown }) => shown)
}

export const searchImages = (models: readonly Found<ShownImage>[], filters: ImageFilters): ShownImage[] =>
  searched(models, filters, ({ tier }) => filters.tier === undefined || tier === filters.tier)

export const searchVideos = (models: readonly Found<ShownVideo>[], filters: VideoFilters): ShownVideo[] =>
  searched(
    models,
    filters,
    ({ modes, resolutions, audio }) =>
      (filters.mode === undefined || modes.includes(filters.mode)) &&
      (filters.resolution === undefined || resolutions.includes(filters.resolution.toLowerCase())) &&
      (filters.audio === undefined || audio === filters.audio),
  )

export const searchAudio = (models: readonly Found<ShownAudio>[], filters: AudioFilters): ShownAudio[] =>
  searched(
    models,
    filters,
    ({ kind, languages, speed }) =>
      (filters.kind === undefined || kind === filters.kind) &&
      speaks(languages, filters.language) &&
      (filters.min_speed === undefined || (speed !== null && speed >= filters.min_speed)),
    ({ speed }) => speed,
  )
