import { z } from 'zod'
import { formatUsd, fromUsd } from '#core/money.ts'
import type { Snapshot } from './catalogue.ts'
import { isMediaKind, videoModes } from './media.ts'
import type { CatalogueModel, Kind, Prices, Pricing, Tier } from './model.ts'
import { shorten } from '#core/text/shorten.ts'

/** The message is safe to show. */
export class NoCatalogue extends Error {
  override name = 'NoCatalogue'
}

const MAX_MODELS = 20_000
const usd = z.string().regex(/^\d{1,7}(\.\d{1,9})?$/)
const further = {
  reasoning: usd.optional(),
  cache_read: usd.optional(),
  cache_write_5m: usd.optional(),
  cache_write_1h: usd.optional(),
  image: usd.optional(),
  pixel: usd.optional(),
  image_input: usd.optional(),
  image_output: usd.optional(),
  audio_input: usd.optional(),
  audio_output: usd.optional(),
  audio_second: usd.optional(),
  video_second: usd.optional(),
  character: usd.optional(),
  request: usd.optional(),
}
const buckets = { input: usd, output: usd, ...further }
const tokens = z.number().int().min(1).max(1_000_000_000)
const words = z.string().max(64)
const some = z.array(words).max(200)
const booleanOrNull = z.boolean().nullable()
const count = z.number().int().min(1).max(1_000_000).nullable()
const abilities = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('image'),
    sizes: some,
    max_n: count,
    edits: booleanOrNull,
    masks: booleanOrNull,
    tier: z.enum(['fast', 'standard', 'premium']).nullable(),
  }),
  z.strictObject({
    kind: z.literal('video'),
    modes: z.array(z.enum(videoModes)).max(10),
    resolutions: some,
    seconds: z.array(z.number().min(0).max(3_600)).max(100),
    audio: booleanOrNull,
  }),
  z.strictObject({
    kind: z.enum(['speech', 'transcription']),
    formats: some,
    languages: some,
    streams: booleanOrNull,
    max_characters: count,
  }),
])
const variant = z.strictObject({
  when: z.strictObject({
    size: words.optional(),
    quality: words.optional(),
    resolution: words.optional(),
    audio: z.boolean().optional(),
  }),
  input: usd.optional(),
  output: usd.optional(),
  ...further,
})
const slugPart = z.string().regex(/^[^\s\0]{1,256}$/)

const snapshotModel = z
  .strictObject({
    slug: z.string().max(300),
    provider: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
    upstream_model: slugPart,
    name: z.string().min(1).max(200),
    kind: z.enum(['text', 'image', 'audio', 'video', 'embedding', 'speech', 'transcription']),
    media: abilities.optional(),
    context_length: tokens.nullable(),
    max_output_tokens: tokens.nullable(),
    modalities: z.strictObject({ input: z.array(words).max(10), output: z.array(words).max(10) }),
    capabilities: z.array(words).max(40),
    capability_index: z.number().min(0).max(100).nullable(),
    capability_index_source: z.string().max(200).nullable(),
    pricing: z
      .strictObject({
        ...buckets,
        audio_unit: z.enum(['token', 'second']).optional(),
        tiers: z
          .array(z.strictObject({ above_input_tokens: z.number().int().min(1), ...buckets }))
          .max(10)
          .optional(),
        variants: z.array(variant).max(100).optional(),
      })
      .nullable(),
    price_source: z.string().max(200).nullable(),
    price_date: z.iso.date().nullable(),
    released_at: z.iso.date().nullable(),
  })
  .refine(
    ({ slug, provider, upstream_model }) => slug === `${provider}/${upstream_model}`,
    'slug is provider/upstream_model',
  )
  .refine(({ kind, media }) => media === undefined || media.kind === kind, 'media are of the kind of the model')
const snapshot = z.strictObject({
  sources: z
    .array(z.strictObject({ name: words, version: words, date: z.iso.date(), licence: z.string().max(200) }))
    .min(1)
    .max(10),
  models: z.array(snapshotModel).min(1).max(MAX_MODELS),
})

/** The fields read from models.dev's `api.json` (github.com/anomalyco/models.dev, packages/core/src/schema.ts). */
const price = z.number().min(0).max(1_000_000)
const rates = {
  input: price,
  output: price,
  reasoning: price.optional(),
  cache_read: price.optional(),
  cache_write: price.optional(),
  input_audio: price.optional(),
  output_audio: price.optional(),
}
const theirModel = z.object({
  id: slugPart,
  name: z.string().min(1).max(200),
  reasoning: z.boolean().optional(),
  tool_call: z.union([z.boolean(), z.object({ supported: z.boolean() })]).optional(),
  release_date: z.string().max(32).optional(),
  modalities: z.object({ input: z.array(words).max(10), output: z.array(words).max(10) }).optional(),
  cost: z
    .object({
      ...rates,
      tiers: z
        .array(z.object({ ...rates, tier: z.object({ type: z.string(), size: z.number().int().min(1) }) }))
        .max(10)
        .optional(),
      context_over_200k: z.object(rates).optional(),
    })
    .optional(),
  limit: z
    .object({ context: z.number().min(0).max(1e9).optional(), output: z.number().min(0).max(1e9).optional() })
    .optional(),
})
type TheirModel = z.output<typeof theirModel>

const providers: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  google: 'google',
  xai: 'xai',
  deepseek: 'deepseek',
  mistral: 'mistral',
  cohere: 'cohere',
  llama: 'meta',
  moonshotai: 'moonshotai',
  minimax: 'minimax',
  zai: 'zai',
  azure: 'azure',
  'amazon-bedrock': 'bedrock',
  'google-vertex': 'vertex',
  groq: 'groq',
  cerebras: 'cerebras',
  togetherai: 'together',
  'fireworks-ai': 'fireworks',
  openrouter: 'openrouter',
}

export interface FetchedSnapshot {
  snapshot: Snapshot
  skipped: number
}

/**
 * Accepts the format of `snapshot.json` and models.dev's `api.json`. `day` and `version` date undated sources. Throws
 * `NoCatalogue`.
 */
export function readFetched(json: unknown, day: string, version: string): FetchedSnapshot {
  if (json === null || typeof json !== 'object' || Array.isArray(json)) throw new NoCatalogue('It isn’t a JSON object.')
  if ('models' in json && Array.isArray(json.models)) {
    const ownFormat = snapshot.safeParse(json)
    if (!ownFormat.success) throw new NoCatalogue(firstOf(ownFormat.error))
    const slugs = new Set(ownFormat.data.models.map(({ slug }) => slug))
    if (slugs.size < ownFormat.data.models.length) throw new NoCatalogue('It contains a slug twice.')
    return { snapshot: ownFormat.data as Snapshot, skipped: 0 }
  }
  return fromModelsDev(json as Record<string, unknown>, day, version)
}

const firstOf = ({ issues: [issue] }: z.ZodError): string => shorten(`${issue!.path.join('.')}: ${issue!.message}`, 300)

function fromModelsDev(json: Record<string, unknown>, day: string, version: string): FetchedSnapshot {
  let skippedCount = 0
  const models: CatalogueModel[] = []
  const source = `models.dev@${version}`
  for (const [theirs, ours] of Object.entries(providers)) {
    const theirModels = (json[theirs] as { models?: unknown } | undefined)?.models
    if (theirModels === null || typeof theirModels !== 'object') continue
    for (const entry of Object.values(theirModels)) {
      const result = theirModel.safeParse(entry)
      if (!result.success) skippedCount++
      else models.push(modelOf(result.data, ours, source, day))
      if (models.length > MAX_MODELS) throw new NoCatalogue(`It has more than ${MAX_MODELS} models.`)
    }
  }
  if (models.length === 0) throw new NoCatalogue('It contains no models of known providers.')
  if (skippedCount > models.length) throw new NoCatalogue('Most of its models can’t be read.')
  const bySlug = new Map(models.map((model) => [model.slug, model]))
  return {
    snapshot: { sources: [{ name: 'models.dev', version, date: day, licence: 'MIT' }], models: [...bySlug.values()] },
    skipped: skippedCount,
  }
}

function modelOf(model: TheirModel, provider: string, source: string, day: string): CatalogueModel {
  const { id, name, modalities = { input: ['text'], output: ['text'] }, limit, release_date: releaseDate } = model
  const kind = kindOf(id, modalities.output)
  // Images, videos, and speech cost more than the text tokens that this source prices.
  const pricing = isMediaKind(kind) ? null : pricingOf(model)
  const tools = typeof model.tool_call === 'object' ? model.tool_call.supported : model.tool_call === true
  return {
    slug: `${provider}/${id}`,
    provider,
    upstream_model: id,
    name,
    kind,
    context_length: whole(limit?.context),
    max_output_tokens: whole(limit?.output),
    modalities,
    capabilities: [
      ...(tools ? ['tools'] : []),
      ...(modalities.input.includes('image') ? ['vision'] : []),
      ...(model.reasoning === true ? ['reasoning'] : []),
      ...(pricing?.cache_read !== undefined ? ['prompt_caching'] : []),
    ],
    capability_index: null,
    capability_index_source: null,
    pricing,
    price_source: pricing && source,
    price_date: pricing && day,
    released_at: releaseDate !== undefined && z.iso.date().safeParse(releaseDate).success ? releaseDate : null,
  }
}

function kindOf(id: string, output: readonly string[]): Kind {
  if (/embed/i.test(id)) return 'embedding'
  if (/whisper|transcribe/i.test(id)) return 'transcription'
  if (/(^|[-/])tts([-.]|$)/i.test(id)) return 'speech'
  if (output.includes('text') && !output.includes('image')) return 'text'
  return output.includes('image')
    ? 'image'
    : output.includes('video')
      ? 'video'
      : output.includes('audio')
        ? 'audio'
        : 'text'
}

const whole = (count: number | undefined): number | null =>
  count === undefined || count < 1 ? null : Math.round(count)

/**
 * Null without prices, if zero may mean unknown, and if our buckets can't express it: a partial price charges too
 * little.
 */
function pricingOf({ id, cost }: TheirModel): Pricing | null {
  if (cost === undefined) return null
  const { tiers, context_over_200k: above, ...base } = cost
  if (base.input === 0 && base.output === 0 && !id.endsWith(':free')) return null
  if (tiers?.some(({ tier }) => tier.type !== 'context')) return null
  const steps: Tier[] = tiers
    ? tiers.map(({ tier, ...rest }) => ({ above_input_tokens: tier.size, ...pricesOf(rest) }))
    : above
      ? [{ above_input_tokens: 200_000, ...pricesOf(above) }]
      : []
  const sound = base.input_audio !== undefined || base.output_audio !== undefined
  return {
    ...pricesOf(base),
    ...(sound && { audio_unit: 'token' as const }),
    ...(steps.length > 0 && { tiers: steps.toSorted((a, b) => a.above_input_tokens - b.above_input_tokens) }),
  }
}

type Rates = Omit<NonNullable<TheirModel['cost']>, 'tiers' | 'context_over_200k'>
const pricesOf = (rates: Rates): Prices => ({
  input: decimal(rates.input),
  output: decimal(rates.output),
  ...(rates.reasoning !== undefined && { reasoning: decimal(rates.reasoning) }),
  ...(rates.cache_read !== undefined && { cache_read: decimal(rates.cache_read) }),
  ...(rates.cache_write !== undefined && { cache_write_5m: decimal(rates.cache_write) }),
  ...(rates.input_audio !== undefined && { audio_input: decimal(rates.input_audio) }),
  ...(rates.output_audio !== undefined && { audio_output: decimal(rates.output_audio) }),
})

/** Rounds to 9 decimals: later digits are artifacts of binary sums. */
const decimal = (price: number): string => formatUsd(fromUsd(price))
