import type { Log } from '#infra/log.ts'
import type { Outbound } from '#packages/http-client/outbound.ts'
import type { Offer } from '#gateway/model/offer.ts'
import { openai } from '#gateway/providers/clouds/openai.ts'
import { type Id, idOf, parseId } from '#core/ids.ts'
import { refuse } from '#core/errors.ts'
import type { Principal } from '#core/principal.ts'
import type { Row } from '../catalogues/rows.ts'
import type { EndpointDirectory } from '../directory/has-endpoints.ts'
import type { OwnEngine, OwnSpeech } from '../endpoints/own-speech.ts'
import { type Source, catalogueProviderOf } from '../endpoints/sources.ts'
import { geminiVoices, isCustomVoice, openaiVoices } from './built-in.ts'
import { fetchVoices, listsVoices } from './fetch-voices.ts'
import type { ProviderVoice } from './provider-voice.ts'
import { shorten } from '#core/text/shorten.ts'

export interface Voice extends Omit<ProviderVoice, 'id' | 'model' | 'createdAt'> {
  id: Id
  /** `provider/voice`. */
  slug: string
  provider: string
  /** The provider's ID. */
  vendorId: string
  models: readonly string[]
  createdAt: string
}

export interface HasVoices {
  voices: Voices
}

export interface Voices {
  of(principal: Principal): Promise<readonly Voice[]>
  /**
   * Resolves a slug, an ID or the provider's own name to the provider's name. Null: the provider doesn't have the
   * voice. If its voices are unknown, the name is returned as is.
   */
  find(offer: Offer, voiceName: string): Promise<string | null>
  /** Like `find`, but refuses a missing voice with 400 `invalid_parameter`, `param: voice`. */
  voiceFor(offer: Offer, voiceName: string): Promise<string>
}

const CACHE_MS = 3_600_000
const RETRY_MS = 30_000
const MAX_CACHED = 10_000
const MAX_SUGGESTED = 10

interface CachedVoices {
  voices: readonly ProviderVoice[] | null
  /** On the `performance.now()` clock. */
  until: number
  asking: Promise<void> | null
}

/** Caches voices in memory for one hour. */
export function createVoices({
  outbound,
  directory,
  speech,
  log,
}: {
  outbound: Outbound
  directory: Pick<EndpointDirectory, 'mediaModels'>
  speech: OwnSpeech | null
  log: Log
}): Voices {
  const cache = new Map<string, CachedVoices>()

  async function voicesAt(source: Source): Promise<readonly ProviderVoice[] | null> {
    const { endpoint, from } = source
    if (from === 'server') return ownVoices(speech)
    if (listsVoices(endpoint)) return loadVoices(source)
    if (endpoint.shape === 'gemini') return geminiVoices
    return catalogueProviderOf(endpoint) === openai.catalogue ? openaiVoices : null
  }

  async function loadVoices(source: Source): Promise<readonly ProviderVoice[] | null> {
    // A different address or key may have different voices.
    const key = `${source.endpoint.id} ${source.updatedAt}`
    const before = cache.get(key)
    if (before?.asking) await before.asking
    else if (before === undefined || performance.now() > before.until) {
      if (cache.size >= MAX_CACHED) cache.clear()
      const entry: CachedVoices = { voices: before?.voices ?? null, until: 0, asking: null }
      cache.set(key, entry)
      entry.asking = ask(source, entry)
      await entry.asking
    }
    return cache.get(key)?.voices ?? null
  }

  async function ask({ endpoint }: Source, entry: CachedVoices): Promise<void> {
    try {
      entry.voices = await fetchVoices(outbound, endpoint)
      entry.until = performance.now() + CACHE_MS
    } catch (error) {
      log.debug({ provider: endpoint.slug, error }, 'a provider does not say which voices it has')
      entry.until = performance.now() + RETRY_MS
    }
    entry.asking = null
  }

  const speakersOf = async (principal: Principal): Promise<Row[]> =>
    (await directory.mediaModels(principal)).filter(({ media }) => media?.kind === 'speech')

  return {
    async of(principal) {
      const bySource = Map.groupBy(await speakersOf(principal), ({ source }) => source)
      const all = await Promise.all(
        [...bySource].map(async ([source, rows]) =>
          ((await voicesAt(source)) ?? []).map((voice) => voiceOf(source, voice, rows)),
        ),
      )
      const bySlug = new Map<string, Voice>()
      for (const voice of all.flat())
        if (voice.models.length > 0 && !bySlug.has(voice.slug)) bySlug.set(voice.slug, voice)
      return [...bySlug.values()].toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
    },

    find,

    async voiceFor(offer, voiceName) {
      const vendorVoice = await find(offer, voiceName)
      if (vendorVoice !== null) return vendorVoice
      const { source, slug } = offer as Row
      const others = ((await voicesAt(source)) ?? [])
        .filter((voice) => speaksWith(voice, offer))
        .slice(0, MAX_SUGGESTED)
      return refuse('invalid_parameter', {
        param: 'voice',
        message: `\`${slug}\` has no voice ${JSON.stringify(shorten(voiceName, 100))}. Available voices include ${others.map(({ id }) => `\`${id}\``).join(', ')}. \`GET /audio/voices\` lists all voices.`,
      })
    },
  }

  async function find(offer: Offer, voiceName: string): Promise<string | null> {
    // The directory's offers are rows.
    const { source } = offer as Row
    const availableVoices = await voicesAt(source)
    const plain = voiceName.startsWith(`${source.endpoint.slug}/`)
      ? voiceName.slice(source.endpoint.slug.length + 1)
      : voiceName
    if (availableVoices === null) return plain
    const id = parseId(voiceName)
    const fits = availableVoices.filter((voice) => speaksWith(voice, offer))
    const same =
      fits.find((voice) => voice.id === plain || idIn(source, voice) === id) ??
      fits.find(({ name }) => name.toLowerCase() === plain.toLowerCase())
    return same?.id ?? (isCustomVoice(plain) && !listsVoices(source.endpoint) ? plain : null)
  }
}

/** The voice's model is this model or a member of its family: `aura-2` includes `aura-2-thalia-en`. */
const speaksWith = ({ model }: ProviderVoice, { upstreamModel }: Pick<Offer, 'upstreamModel'>): boolean =>
  model === null || model === upstreamModel || model.startsWith(`${upstreamModel}-`)

const slugIn = ({ endpoint }: Source, { id }: ProviderVoice): string => `${endpoint.slug}/${id}`
const idIn = (source: Source, voice: ProviderVoice): Id => idOf('voice', source.ownerId, slugIn(source, voice))

function voiceOf(source: Source, voice: ProviderVoice, rows: readonly Row[]): Voice {
  const { id, model: _, createdAt, ...about } = voice
  return {
    ...about,
    id: idIn(source, voice),
    slug: slugIn(source, voice),
    provider: source.endpoint.slug,
    vendorId: id,
    models: rows.filter((row) => speaksWith(voice, row)).map(({ slug }) => slug),
    createdAt: createdAt ?? source.createdAt,
  }
}

async function ownVoices(speech: OwnSpeech | null): Promise<ProviderVoice[]> {
  if (speech === null) return []
  const of = async (engine: OwnEngine): Promise<ProviderVoice[]> =>
    (await speech.voices(engine).catch(() => [])).map(({ name, title, languages, gender }) => ({
      id: name,
      name: title,
      languages,
      gender,
      styles: [],
      previewUrl: null,
      model: engine,
      createdAt: null,
    }))
  return (await Promise.all(speech.engines.map(of))).flat()
}
