import type { Outbound } from '#packages/http-client/outbound.ts'
import type { ProviderEndpoint } from '#gateway/model/offer.ts'
import { type Json, isObject, listOf, objectOf } from '#gateway/model/json.ts'
import { providerOf } from '#gateway/providers/every-provider.ts'
import { kokoroFastApi } from '#gateway/providers/local/kokoro-fastapi.ts'
import { AskFailed, getJson } from '../lists/ask-provider.ts'
import type { ProviderVoice } from './provider-voice.ts'
import { shorten } from '#core/text/shorten.ts'

const MAX = 5_000
const LONGEST = 200

export const listsVoices = ({ shape, preset }: ProviderEndpoint): boolean =>
  shape === 'elevenlabs' || shape === 'deepgram' || providerOf(preset) === kokoroFastApi

/** Throws `AskFailed`. */
export async function fetchVoices(outbound: Outbound, endpoint: ProviderEndpoint): Promise<ProviderVoice[]> {
  const voices = await ask(outbound, endpoint)
  const byId = new Map(voices.filter(({ id }) => id !== '').map((voice) => [voice.id, voice]))
  return [...byId.values()].slice(0, MAX)
}

async function ask(outbound: Outbound, endpoint: ProviderEndpoint): Promise<ProviderVoice[]> {
  switch (endpoint.shape) {
    case 'elevenlabs':
      return rows(await getJson(outbound, endpoint, '/voices'), 'voices').map(elevenLabsVoice)
    case 'deepgram':
      return rows(await getJson(outbound, endpoint, '/models'), 'tts').map(deepgramVoice)
    default:
      return kokoroVoices(await getJson(outbound, endpoint, '/audio/voices'))
  }
}

function rows(answer: unknown, key: string): Json[] {
  const all = isObject(answer) ? answer[key] : undefined
  if (!Array.isArray(all)) throw new AskFailed('The provider’s voice list has an unknown format.')
  return all.filter(isObject)
}

const text = (value: unknown): string => (typeof value === 'string' ? shorten(value, LONGEST).toWellFormed() : '')
const texts = (...values: unknown[]): string[] => [...new Set(values.map(text).filter((word) => word !== ''))]
const web = (value: unknown): string | null => (/^https:\/\/\S{1,2000}$/.test(String(value)) ? String(value) : null)

const tag = (value: unknown): string[] => {
  const word = text(value)
  return /^[a-z]{2,3}([-_][a-z0-9]{1,8})*$/i.test(word) ? [word.replaceAll('_', '-')] : []
}

function genderIn(...words: unknown[]): ProviderVoice['gender'] {
  for (const word of words.map((one) => text(one).toLowerCase())) {
    if (word === 'female' || word === 'feminine') return 'female'
    if (word === 'male' || word === 'masculine') return 'male'
    if (word === 'neutral' || word === 'non-binary') return 'neutral'
  }
  return null
}

/** `GET /v1/voices`, including the account's custom voices (elevenlabs.io/docs/api-reference/voices). */
function elevenLabsVoice(row: Json): ProviderVoice {
  const labels = objectOf(row.labels)
  const verifiedLanguages = listOf(row.verified_languages).filter(isObject)
  const languages = [
    ...verifiedLanguages.flatMap(({ locale, language }) => (tag(locale).length > 0 ? tag(locale) : tag(language))),
    ...tag(labels.language),
  ]
  const createdUnix = row.created_at_unix
  return {
    id: text(row.voice_id),
    name: text(row.name) || text(row.voice_id),
    languages: [...new Set(languages)],
    gender: genderIn(labels.gender),
    styles: texts(labels.description, labels.descriptive, labels.use_case, labels.accent, row.category),
    previewUrl: web(row.preview_url),
    model: null,
    createdAt:
      typeof createdUnix === 'number' && createdUnix > 0 && createdUnix < 32_503_680_000
        ? new Date(createdUnix * 1000).toISOString()
        : null,
  }
}

/**
 * `GET /v1/models`, where each voice is a model (developers.deepgram.com/docs/model-metadata, whose sample has no
 * `tags`).
 */
function deepgramVoice(row: Json): ProviderVoice {
  const { tags, accent, sample } = objectOf(row.metadata)
  const words = listOf(tags)
  const id = text(row.canonical_name)
  return {
    id,
    name: text(row.name) || id,
    languages: [...new Set(listOf(row.languages).flatMap(tag))],
    gender: genderIn(...words),
    styles: texts(...words, accent).filter((word) => genderIn(word) === null),
    previewUrl: web(sample),
    model: id,
    createdAt: null,
  }
}

/**
 * Kokoro encodes language and gender: `af_heart` is an American woman, `bm_george` a British man (hexgrad/kokoro,
 * VOICES.md).
 */
const KOKORO: Readonly<Record<string, string>> = {
  a: 'en-US',
  b: 'en-GB',
  e: 'es',
  f: 'fr-FR',
  h: 'hi',
  i: 'it',
  j: 'ja',
  p: 'pt-BR',
  z: 'zh',
}

function kokoroVoices(answer: unknown): ProviderVoice[] {
  const voices = isObject(answer) ? answer.voices : undefined
  if (!Array.isArray(voices)) throw new AskFailed('The server’s voice list has an unknown format.')
  return (voices as unknown[]).map((row): ProviderVoice => {
    const id = text(isObject(row) ? (row.id ?? row.name) : row)
    const [, language = '', sex = ''] = /^([a-z])([fm])_/.exec(id) ?? []
    return {
      id,
      name: id,
      languages: KOKORO[language] === undefined ? [] : [KOKORO[language]],
      gender: sex === 'f' ? 'female' : sex === 'm' ? 'male' : null,
      styles: [],
      previewUrl: null,
      model: null,
      createdAt: null,
    }
  })
}
