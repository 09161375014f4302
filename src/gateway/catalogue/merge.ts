import { formatUsd, fromUsd } from '#core/money.ts'
import type { Snapshot } from './catalogue.ts'
import type { CatalogueModel, Prices, Pricing } from './model.ts'

/** The operator's settings for a model. Null keeps the sources' value. */
export interface Override {
  slug: string
  pricing: Pricing | null
  context_length: number | null
  max_output_tokens: number | null
  day: string
}

/** Models that the fetched data doesn't have stay. New ones come after the shipped ones of their provider. */
export function mergeFetched(shipped: Snapshot, fetched: Snapshot): Snapshot {
  const unmerged = new Map(fetched.models.map((model) => [model.slug, model]))
  const models = shipped.models.map((older) => {
    const newer = unmerged.get(older.slug)
    unmerged.delete(older.slug)
    return newer === undefined ? older : mergeModel(older, newer)
  })
  const lastIndexes = new Map<string, number>()
  models.forEach(({ provider }, i) => lastIndexes.set(provider, i))
  const place = (provider: string): number => lastIndexes.get(provider) ?? models.length
  const newModels = [...unmerged.values()].map((model) => ({ model, at: place(model.provider) + 0.5 }))
  const all = [...models.map((model, at) => ({ model, at })), ...newModels].toSorted((a, b) => a.at - b.at)
  return { sources: [...fetched.sources, ...shipped.sources], models: all.map(({ model }) => model) }
}

function mergeModel(older: CatalogueModel, newer: CatalogueModel): CatalogueModel {
  const hasPrice = newer.pricing !== null
  const { media: theirs, ...rest } = newer
  const media = theirs?.kind === older.kind ? theirs : older.media
  return {
    ...rest,
    // The shipped sources know a model's kind better than modalities show.
    kind: older.kind,
    context_length: newer.context_length ?? older.context_length,
    max_output_tokens: newer.max_output_tokens ?? older.max_output_tokens,
    capabilities: [...new Set([...older.capabilities, ...newer.capabilities])],
    ...(media !== undefined && { media }),
    capability_index: older.capability_index,
    capability_index_source: older.capability_index_source,
    pricing: newer.pricing === null ? older.pricing : withLongWrites(newer.pricing, older.pricing),
    price_source: hasPrice ? newer.price_source : older.price_source,
    price_date: hasPrice ? newer.price_date : older.price_date,
    released_at: newer.released_at ?? older.released_at,
  }
}

/** A source with one price for cache writes means the short ones; the long ones keep their ratio to the input price. */
function withLongWrites(newer: Pricing, older: Pricing | null): Pricing {
  if (newer.cache_write_1h !== undefined || older?.cache_write_1h === undefined) return newer
  const [hour, input] = [fromUsd(older.cache_write_1h), fromUsd(older.input)]
  if (input === 0n) return newer
  const scaledPrice = (prices: Prices): string => formatUsd((fromUsd(prices.input) * hour + input - 1n) / input)
  return {
    ...newer,
    cache_write_1h: scaledPrice(newer),
    ...(newer.tiers && { tiers: newer.tiers.map((tier) => ({ ...tier, cache_write_1h: scaledPrice(tier) })) }),
  }
}

export function override({ sources, models }: Snapshot, overrides: readonly Override[]): Snapshot {
  if (overrides.length === 0) return { sources, models }
  const unmatched = new Map(overrides.map((one) => [one.slug, one]))
  const changedModels = models.map((model) => {
    const word = unmatched.get(model.slug)
    unmatched.delete(model.slug)
    return word === undefined ? model : overridden(model, word)
  })
  return {
    sources,
    models: [...changedModels, ...[...unmatched.values()].map((word) => overridden(unknown(word.slug), word))],
  }
}

const overridden = (
  model: CatalogueModel,
  { pricing, context_length, max_output_tokens, day }: Override,
): CatalogueModel => ({
  ...model,
  context_length: context_length ?? model.context_length,
  max_output_tokens: max_output_tokens ?? model.max_output_tokens,
  ...(pricing !== null && { pricing, price_source: 'operator', price_date: day }),
})

function unknown(slug: string): CatalogueModel {
  const slash = slug.indexOf('/')
  return {
    slug,
    provider: slug.slice(0, slash),
    upstream_model: slug.slice(slash + 1),
    name: slug.slice(slash + 1),
    kind: 'text',
    context_length: null,
    max_output_tokens: null,
    modalities: { input: ['text'], output: ['text'] },
    capabilities: [],
    capability_index: null,
    capability_index_source: null,
    pricing: null,
    price_source: null,
    price_date: null,
    released_at: null,
  }
}
