import { formatUsd, fromUsd } from '#core/money.ts'
import type { Snapshot } from './catalogue.ts'
import type { CatalogueModel, Prices, Pricing } from './model.ts'

/** The operator's own word on a model. What is null is left as the sources have it. */
export interface Override {
  slug: string
  pricing: Pricing | null
  context_length: number | null
  max_output_tokens: number | null
  /** The UTC day it was given. */
  day: string
}

/**
 * Fetched data goes over what is shipped, model by model; what it does not know stays. Models that only the newer
 * one knows stand behind the shipped ones of their provider.
 */
export function mergeFetched(shipped: Snapshot, fetched: Snapshot): Snapshot {
  const left = new Map(fetched.models.map((model) => [model.slug, model]))
  const models = shipped.models.map((older) => {
    const newer = left.get(older.slug)
    left.delete(older.slug)
    return newer === undefined ? older : renewed(older, newer)
  })
  const known = new Map<string, number>()
  models.forEach(({ provider }, i) => known.set(provider, i))
  const place = (provider: string): number => known.get(provider) ?? models.length
  const added = [...left.values()].map((model) => ({ model, at: place(model.provider) + 0.5 }))
  const all = [...models.map((model, at) => ({ model, at })), ...added].toSorted((a, b) => a.at - b.at)
  return { sources: [...fetched.sources, ...shipped.sources], models: all.map(({ model }) => model) }
}

function renewed(older: CatalogueModel, newer: CatalogueModel): CatalogueModel {
  const priced = newer.pricing !== null
  const { media: theirs, ...rest } = newer
  const media = theirs?.kind === older.kind ? theirs : older.media
  return {
    ...rest,
    // Which of a vendor's models is what kind the shipped sources tell better than modalities do.
    kind: older.kind,
    context_length: newer.context_length ?? older.context_length,
    max_output_tokens: newer.max_output_tokens ?? older.max_output_tokens,
    capabilities: [...new Set([...older.capabilities, ...newer.capabilities])],
    ...(media !== undefined && { media }),
    capability_index: older.capability_index,
    capability_index_source: older.capability_index_source,
    pricing: newer.pricing === null ? older.pricing : withLongWrites(newer.pricing, older.pricing),
    price_source: priced ? newer.price_source : older.price_source,
    price_date: priced ? newer.price_date : older.price_date,
    released_at: newer.released_at ?? older.released_at,
  }
}

/** A source that has one price for cache writes means the short ones: the long ones keep their proportion to the input. */
function withLongWrites(newer: Pricing, older: Pricing | null): Pricing {
  if (newer.cache_write_1h !== undefined || older?.cache_write_1h === undefined) return newer
  const [hour, input] = [fromUsd(older.cache_write_1h), fromUsd(older.input)]
  if (input === 0n) return newer
  const scaled = (prices: Prices): string => formatUsd((fromUsd(prices.input) * hour + input - 1n) / input)
  return {
    ...newer,
    cache_write_1h: scaled(newer),
    ...(newer.tiers && { tiers: newer.tiers.map((tier) => ({ ...tier, cache_write_1h: scaled(tier) })) }),
  }
}

/** The operator's word over all sources. A slug that no source knows becomes a model of its own. */
export function override({ sources, models }: Snapshot, overrides: readonly Override[]): Snapshot {
  if (overrides.length === 0) return { sources, models }
  const left = new Map(overrides.map((one) => [one.slug, one]))
  const changed = models.map((model) => {
    const word = left.get(model.slug)
    left.delete(model.slug)
    return word === undefined ? model : overridden(model, word)
  })
  return { sources, models: [...changed, ...[...left.values()].map((word) => overridden(unknown(word.slug), word))] }
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
