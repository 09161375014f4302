import { findProvider, type ModelInfo, type ModelPrice } from '@pydantic/genai-prices'
import { formatUsd, fromUsd } from '#core/money.ts'
import { decimal, type Draft } from './draft.ts'
import type { Kind, Prices, Pricing } from '#gateway/catalogue/model.ts'

// The package contains no date. This is when 0.1.8 was published.
export const source = { name: '@pydantic/genai-prices', version: '0.1.8', date: '2026-09-23', licence: 'MIT' }

/**
 * The models that the other source leaves out by design: embeddings, speech, pictures, and vendors that it does not
 * list (`whole`).
 */
export function fromGenaiPrices(theirs: string, provider: string, whole: boolean): Draft[] {
  const known = findProvider({ providerId: theirs })
  if (!known) throw new Error(`${source.name} lists no ${theirs}`)
  return known.models
    .filter((model) => !model.deprecated && (whole || kindOf(model.id) !== 'text'))
    .flatMap((model) => literalNames(model).map((name) => draft(model, name, provider)))
}

/** Models are patterns here. Only complete names can be called. */
function literalNames({ match }: ModelInfo): string[] {
  const parts = 'or' in match ? match.or : [match]
  return parts.flatMap((part) => ('equals' in part ? [part.equals] : []))
}

function draft(model: ModelInfo, id: string, provider: string): Draft {
  const kind = kindOf(id)
  const theirs = current(model)
  // Making an image costs more than text: where the source has a price for text tokens alone, it has none for pictures.
  const pricing = kind === 'image' && !pricesPictures(id, theirs) ? null : price(theirs, kind)
  return {
    provider,
    upstream_model: id,
    name: id === model.id ? (model.name ?? id) : id,
    kind,
    context_length: model.context_window ?? null,
    max_output_tokens: null,
    modalities: modalities(id, kind),
    capabilities: [],
    pricing,
    price_source: pricing && `${source.name}@${source.version}`,
    price_date: pricing && source.date,
  }
}

/** The source does not classify; the vendors' names do. */
function kindOf(id: string): Kind {
  if (/embed|^voyage-/.test(id)) return 'embedding'
  if (/image/.test(id)) return 'image'
  if (/whisper|transcribe/.test(id)) return 'transcription'
  if (/tts/.test(id)) return 'speech'
  return /audio|realtime|voice|live/.test(id) ? 'audio' : 'text'
}

/** Models that only make pictures have one price for what comes out; the others name that of pictures apart. */
const pricesPictures = (id: string, { output_mtok, output_image_mtok }: ModelPrice): boolean =>
  output_image_mtok !== undefined || (id.startsWith('gpt-image-') && output_mtok !== undefined)

function modalities(id: string, kind: Kind): { input: string[]; output: string[] } {
  if (kind === 'embedding') return { input: ['text'], output: ['embedding'] }
  if (kind === 'image') return { input: ['text'], output: ['image'] }
  if (kind === 'transcription') return { input: ['audio'], output: ['text'] }
  if (kind === 'speech') return { input: ['text'], output: ['audio'] }
  return kind === 'audio'
    ? { input: ['text', 'audio'], output: ['text', 'audio'] }
    : { input: ['text'], output: ['text'] }
}

/** The last price that has begun by the source's date; happy hours are left out. */
function current({ prices }: ModelInfo): ModelPrice {
  if (!Array.isArray(prices)) return prices
  const begun = prices.filter(
    ({ constraint: when }) => !when || ('start_date' in when && when.start_date <= source.date),
  )
  return begun.at(-1)?.prices ?? {}
}

// Charged apart from the tokens, for things that a plain call does not do.
const fees = new Set(['web_searches_kcount', 'storage_searches_kcount', 'audio_hours'])
const buckets: Record<string, keyof Prices> = {
  input_mtok: 'input',
  output_mtok: 'output',
  output_reasoning_mtok: 'reasoning',
  cache_read_mtok: 'cache_read',
  cache_write_mtok: 'cache_write_5m',
  cache_write_1h_mtok: 'cache_write_1h',
  input_audio_mtok: 'audio_input',
  output_audio_mtok: 'audio_output',
}
/** The same for models that make pictures. */
const pictures: Record<string, keyof Prices> = { input_image_mtok: 'image_input', output_image_mtok: 'image_output' }
// Tokens that we do not count apart: harmless only where they cost what their bucket costs.
const within: Record<string, string> = {
  input_image_mtok: 'input_mtok',
  input_video_mtok: 'input_mtok',
  output_image_mtok: 'output_mtok',
  cache_audio_read_mtok: 'cache_read_mtok',
  cache_image_read_mtok: 'cache_read_mtok',
}

/** Null where the source prices something that our buckets can't hold: half a price would charge too little. */
function price(theirs: ModelPrice, kind: Kind): Pricing | null {
  const ours: Partial<Pricing> = {}
  const cached: number[] = []
  for (const [key, value] of Object.entries(theirs)) {
    const bucket = buckets[key] ?? (kind === 'image' ? pictures[key] : undefined)
    if (fees.has(key) || value === undefined) continue
    if (typeof value !== 'number') return null
    if (bucket) ours[bucket] = decimal(value)
    else if (key === 'input_audio_hours') ours.audio_second = perMillionSeconds(value)
    // Cached image and text tokens aren't distinguished, so all get the higher price.
    else if (kind === 'image' && key === 'cache_image_read_mtok') cached.push(value)
    else if (value !== theirs[within[key] ?? '']) return null
  }
  if (cached.length > 0) ours.cache_read = decimal(Math.max(...cached, Number(ours.cache_read ?? 0)))
  if (Object.keys(ours).length === 0) return null
  if ((ours.audio_input || ours.audio_output) && !ours.audio_unit) ours.audio_unit = 'token'
  // An embedding has no output tokens, a transcription by the hour no tokens at all.
  return { input: '0', output: '0', ...ours }
}

/** Up to the next nano-dollar, since an hour's 3,600 seconds may not divide the price. */
function perMillionSeconds(hour: number): string {
  const nano = fromUsd(decimal(hour)) * 1_000_000n
  return formatUsd((nano + 3599n) / 3600n)
}
