import type { Catalogue } from '#gateway/catalogue/catalogue.ts'
import { providerOf } from '#gateway/providers/every-provider.ts'
import { type MediaAbilities, isMediaKind, unknownAbilities } from '#gateway/catalogue/media.ts'
import type { CatalogueModel, Kind, Prices, Pricing } from '#gateway/catalogue/model.ts'
import type { ListedOffer, OfferedMedia } from '#gateway/model/offer.ts'
import { type Id, idOf } from '#core/ids.ts'
import { formatUsd, fromUsd } from '#core/money.ts'
import type { ListedModel } from '../lists/list-models.ts'
import { type Source, catalogueProviderOf, isLocal } from '../endpoints/sources.ts'
import type { EndpointModel } from '../store.ts'

export interface Row extends ListedOffer {
  id: Id
  kind: Kind
  capabilityIndex: number | null
  capabilityIndexSource: string | null
  source: Source
}

/** Lists an endpoint's models: the configured ones, or else the catalogue's plus those the provider lists. */
export function rowsOf(source: Source, listedModels: readonly ListedModel[] | null, catalogue: Catalogue): Row[] {
  if (source.own !== undefined) return source.own.map((model) => fromCatalogue(source, model, catalogue))
  if (source.models.length > 0) return source.models.map((model) => fromConfigured(source, model, catalogue))
  const provider = catalogueProviderOf(source.endpoint)
  const catalogueModels = provider === null ? [] : (catalogue.byProvider.get(provider) ?? [])
  const matchingModels = catalogueModels.filter((model) => isIn(source, model))
  const names = new Set(matchingModels.map(({ upstream_model }) => upstream_model))
  const further = (listedModels ?? []).filter(({ id }) => id !== '' && !names.has(id))
  return [
    ...matchingModels.map((model) => fromCatalogue(source, model, catalogue)),
    ...further.map((model) => fromListed(source, model, catalogue)),
  ]
}

/** Cloud platforms serve models of several vendors, each with its own API shape. An endpoint has one shape. */
const isIn = ({ endpoint: { preset, shape } }: Source, { upstream_model: name }: CatalogueModel): boolean =>
  providerOf(preset)?.serves?.(shape, name) ?? true

export const rowOfCatalogue = (model: CatalogueModel, catalogue: Catalogue): Omit<Row, 'source' | 'endpoint'> =>
  catalogueFields(model, 'catalogue', model.slug, catalogue)

const fromCatalogue = (source: Source, model: CatalogueModel, catalogue: Catalogue): Row => ({
  ...catalogueFields(model, source.ownerId, `${source.endpoint.slug}/${model.upstream_model}`, catalogue),
  endpoint: source.endpoint,
  source,
})

const catalogueFields = (
  model: CatalogueModel,
  owner: string,
  slug: string,
  { sources }: Catalogue,
): Omit<Row, 'source' | 'endpoint'> => ({
  id: idOf(owner, slug),
  slug,
  kind: model.kind,
  upstreamModel: model.upstream_model,
  name: model.name,
  contextLength: model.context_length,
  maxOutputTokens: model.max_output_tokens,
  capabilities: model.capabilities,
  modalities: model.modalities,
  ...pricedAs(model.kind, model.pricing, model.media),
  priceSource: model.price_source,
  priceDate: model.price_date,
  releasedAt: model.released_at,
  createdAt: midnight(model.released_at ?? model.price_date ?? sources[0]!.date),
  capabilityIndex: model.capability_index,
  capabilityIndexSource: model.capability_index_source,
})

const midnight = (day: string): string => new Date(day).toISOString()

function fromConfigured(source: Source, entry: EndpointModel, catalogue: Catalogue): Row {
  const catalogueModel = findInCatalogue(source, entry.id, catalogue)
  const kind = entry.kind ?? catalogueModel?.kind ?? (entry.capabilities?.includes('embedding') ? 'embedding' : 'text')
  const media = catalogueModel?.media?.kind === kind ? catalogueModel.media : undefined
  const { pricing, ...sourceOfPrice } = entry.pricing
    ? { pricing: pricingOf(entry.pricing), priceSource: 'endpoint', priceDate: source.updatedAt.slice(0, 10) }
    : priceOf(source, catalogueModel)
  return {
    ...bare(source, entry.id),
    kind,
    name: entry.name ?? catalogueModel?.name ?? entry.id,
    contextLength: entry.context_length ?? catalogueModel?.context_length ?? null,
    maxOutputTokens: entry.max_output_tokens ?? catalogueModel?.max_output_tokens ?? null,
    capabilities: entry.capabilities ?? catalogueModel?.capabilities ?? [],
    modalities:
      (catalogueModel?.kind === kind ? catalogueModel.modalities : undefined) ??
      modalitiesOf(entry.capabilities ?? [], kind),
    ...(entry.quantization !== undefined && { quantization: entry.quantization }),
    ...sourceOfPrice,
    ...pricedAs(kind, pricing, media),
  }
}

function fromListed(source: Source, listedModel: ListedModel, catalogue: Catalogue): Row {
  const catalogueModel = findInCatalogue(source, listedModel.id, catalogue)
  const kind =
    listedModel.kind ?? catalogueModel?.kind ?? (listedModel.embeds ? 'embedding' : kindByName(listedModel.id))
  const { pricing, ...sourceOfPrice } = priceOf(source, catalogueModel)
  return {
    ...bare(source, listedModel.id),
    kind,
    name: listedModel.name ?? listedModel.id,
    contextLength: listedModel.contextLength,
    maxOutputTokens: listedModel.maxOutputTokens,
    capabilities: listedModel.capabilities,
    modalities: modalitiesOf(listedModel.capabilities, kind),
    createdAt: listedModel.createdAt ?? source.createdAt,
    ...sourceOfPrice,
    ...pricedAs(kind, pricing, catalogueModel?.media ?? listedModel.abilities),
  }
}

function kindByName(id: string): Kind {
  const name = id.slice(id.lastIndexOf('/') + 1).toLowerCase()
  if (/whisper|transcribe|parakeet|scribe_v\d/.test(name)) return 'transcription'
  if (/(^|[-_])tts([-_]|$)|kokoro|piper/.test(name)) return 'speech'
  if (/^(dall-e|gpt-image|imagen-|stable-diffusion|sdxl|sd-turbo|flux[.\d-])/.test(name)) return 'image'
  return /^(veo-|sora-)/.test(name) ? 'video' : 'text'
}

/**
 * Drops a media model's price for text requests if it has prices in media units: token prices alone would undercharge.
 */
function pricedAs(
  kind: Kind,
  pricing: Pricing | null,
  abilities: MediaAbilities | undefined,
): { pricing: Pricing | null; media?: OfferedMedia } {
  if (!isMediaKind(kind)) return { pricing }
  return {
    pricing: pricing !== null && ofMediaAlone.some((bucket) => pricing[bucket] !== undefined) ? null : pricing,
    media: { kind, pricing, abilities: abilities ?? unknownAbilities(kind) },
  }
}

const ofMediaAlone = ['pixel', 'video_second', 'character', 'variants'] as const

const bare = (source: Source, upstreamModel: string) => {
  const slug = `${source.endpoint.slug}/${upstreamModel}`
  return {
    id: idOf(source.ownerId, slug),
    slug,
    upstreamModel,
    endpoint: source.endpoint,
    source,
    releasedAt: null,
    createdAt: source.createdAt,
    capabilityIndex: null,
    capabilityIndexSource: null,
  }
}

function findInCatalogue(source: Source, upstreamModel: string, catalogue: Catalogue): CatalogueModel | undefined {
  const provider = catalogueProviderOf(source.endpoint)
  return provider === null ? undefined : catalogue.find(`${provider}/${upstreamModel}`)
}

function priceOf(
  { endpoint, updatedAt }: Source,
  catalogueModel: CatalogueModel | undefined,
): Pick<Row, 'pricing' | 'priceSource' | 'priceDate'> {
  if (catalogueModel)
    return {
      pricing: catalogueModel.pricing,
      priceSource: catalogueModel.price_source,
      priceDate: catalogueModel.price_date,
    }
  // Local models are free (contract, part 7).
  if (isLocal(endpoint)) return { pricing: NOTHING, priceSource: 'local', priceDate: updatedAt.slice(0, 10) }
  return { pricing: null, priceSource: null, priceDate: null }
}

export const NOTHING: Pricing = {
  input: '0',
  output: '0',
  image: '0',
  audio_second: '0',
  video_second: '0',
  character: '0',
}

type ConfiguredPricing = NonNullable<EndpointModel['pricing']>

export const pricingOf = ({ variants, ...values }: ConfiguredPricing): Pricing => ({
  input: '0',
  output: '0',
  ...decimals(values),
  ...((values.audio_input !== undefined || values.audio_output !== undefined) && { audio_unit: 'token' as const }),
  ...(variants !== undefined && {
    variants: variants.map(({ when, ...over }) => ({
      when: Object.fromEntries(definedEntries(when)),
      ...decimals(over),
    })),
  }),
})

const decimals = (values: Omit<ConfiguredPricing, 'variants'>): Partial<Prices> =>
  Object.fromEntries(definedEntries(values).map(([bucket, price]) => [bucket, formatUsd(fromUsd(price))]))

const definedEntries = <T>(record: Record<string, T | undefined>): [string, T][] =>
  Object.entries(record).filter((entry): entry is [string, T] => entry[1] !== undefined)

const mediaModalities: Partial<Record<Kind, { input: string[]; output: string[] }>> = {
  image: { input: ['text'], output: ['image'] },
  video: { input: ['text'], output: ['video'] },
  speech: { input: ['text'], output: ['audio'] },
  transcription: { input: ['audio'], output: ['text'] },
}

export const modalitiesOf = (capabilities: readonly string[], kind: Kind = 'text') =>
  mediaModalities[kind] ?? {
    input: capabilities.includes('vision') ? ['text', 'image'] : ['text'],
    output: ['text'],
  }
