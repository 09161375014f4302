// ElevenLabs on loopback: speech whole, streamed, and with timestamps, voices of both versions, speech to text.
//
// Sources: @elevenlabs/elevenlabs-js 2.73.0 (raw shapes, output formats, fields of the form, ValidationError);
// @ai-sdk/elevenlabs (a recorded transcript); media.md 2 (`detail{status, message}`, 401 also for spent quota).
//
// Unknown, so only guessed: the words and some statuses of errors; whether unknown fields are rejected (they are here);
// the formats of a plan (all); the character limit of a model (5,000 here); the effect of `timestamps_granularity:
// none` on words.
import type { Answer, Frame, Whole } from '../../delivery/deliver.ts'
import { id, parse } from '../../delivery/plan.ts'
import { check, type Fault, type Rule } from '../../rules.ts'
import { serve, type Call } from '../../server.ts'
import type { Json, Options, Refusal } from '../../vendor.ts'
import { mediaVendor, type MediaVendor } from '../jobs/jobs.ts'
import { wholeOf, spoil, type MediaFile } from '../made/file.ts'
import { pcm, sound, soundIn } from '../made/sound.ts'
import { transcriptOf, type Transcript } from '../made/transcript.ts'
import { bodyOf, isUpload, partsOf } from '../multipart.ts'

export type ElevenLabsVoice = { id: string; name: string; gender: string; language: string; locale: string }

export const elevenLabsVoices: ElevenLabsVoice[] = [
  { id: '21m00Tcm4TlvDq8ikWAM', name: 'Rachel', gender: 'female', language: 'en', locale: 'en-US' },
  { id: 'JBFqnCBsd6RMkjVDRZzb', name: 'George', gender: 'male', language: 'en', locale: 'en-GB' },
  { id: 'pFZP5JQG7iQjIQuC4Bku', name: 'Lena', gender: 'female', language: 'de', locale: 'de-DE' },
]

const speaking = ['eleven_v3', 'eleven_multilingual_v2', 'eleven_flash_v2_5', 'eleven_turbo_v2_5']
const PIECE_BYTES = 4_096
const MAX_CHARACTERS = 5_000

/** Its base URL is `<origin>/v1`. */
export async function elevenLabsMedia(options: Options<ElevenLabsVoice> = {}): Promise<MediaVendor> {
  const { models: voices = elevenLabsVoices, otherwise, key = 'xi-loopback', keys = [] } = options
  const vendor = await serve({
    key,
    otherwise,
    answer: (call) => answer(call, voices, [key, ...keys]),
    failure: ({ status, type, message }) => problem(status, type ?? 'internal_server_error', message ?? 'Try again.'),
    refusals,
    headers: () => ({ 'request-id': id('', 20) }),
  })
  return mediaVendor(vendor, {})
}

function problem(status: number, name: string, message: string): Whole {
  return { status, body: { detail: { status: name, message } } }
}

function invalid({ kind, path }: Fault, where = 'body'): Whole {
  const types: Record<string, string> = { missing: 'missing', unknown: 'extra_forbidden', value: 'enum' }
  return { status: 422, body: { detail: [{ loc: [where, ...path], msg: kind, type: types[kind] ?? 'value_error' }] } }
}

const refusals: Record<Refusal, () => Whole> = {
  key: () => problem(401, 'invalid_api_key', 'Invalid API key'),
  permission: () =>
    problem(401, 'missing_permissions', 'The API key you used is missing the permission text_to_speech.'),
  quota: () =>
    problem(401, 'quota_exceeded', 'This request exceeds your quota of 10000. You have 0 credits remaining.'),
  throttle: () => problem(429, 'too_many_concurrent_requests', 'Too many concurrent requests.'),
}

const text: Rule = { kind: 'string', required: true }
const words: Rule = { kind: 'string', nullable: true }
const flag: Rule = { kind: 'boolean', nullable: true }
const part: Rule = { kind: 'number', min: 0, max: 1, nullable: true }
const closedObject = (fields: Record<string, Rule>, more: Partial<Rule> = {}): Rule => ({
  kind: 'object',
  fields,
  closed: true,
  ...more,
})
const names: Rule = { kind: 'array', items: { kind: 'string' }, maxItems: 3, nullable: true }

const speech = closedObject({
  text,
  model_id: words,
  language_code: words,
  voice_settings: closedObject(
    {
      stability: part,
      similarity_boost: part,
      style: part,
      speed: { kind: 'number', min: 0.7, max: 1.2, nullable: true },
      use_speaker_boost: flag,
    },
    { nullable: true },
  ),
  pronunciation_dictionary_locators: { kind: 'array', nullable: true },
  seed: { kind: 'integer', min: 0, max: 4_294_967_295, nullable: true },
  previous_text: words,
  next_text: words,
  previous_request_ids: names,
  next_request_ids: names,
  apply_text_normalization: { kind: 'string', values: ['auto', 'on', 'off'] },
  apply_language_text_normalization: flag,
  use_pvc_as_ivc: flag,
})

const formats =
  /^(?:mp3_(?:22050_32|24000_48|44100_(?:32|64|96|128|192))|pcm_(?:8000|16000|22050|24000|32000|44100|48000)|[ua]law_8000|opus_48000_(?:32|64|96|128|192))$/

const hearing = closedObject({
  model_id: { kind: 'string', required: true, values: ['scribe_v1', 'scribe_v2'] },
  file: { kind: 'object' },
  cloud_storage_url: { kind: 'string' },
  source_url: { kind: 'string' },
  language_code: { kind: 'string' },
  tag_audio_events: flag,
  num_speakers: { kind: 'integer', min: 1, max: 32 },
  timestamps_granularity: { kind: 'string', values: ['none', 'word', 'character'] },
  diarize: flag,
  diarization_threshold: part,
  additional_formats: { kind: 'string' },
  file_format: { kind: 'string', values: ['pcm_s16le_16', 'other'] },
  temperature: { kind: 'number', min: 0, max: 2 },
  seed: { kind: 'integer' },
  use_multi_channel: flag,
  keyterms: { kind: 'array' },
  webhook: flag,
})

function answer(call: Call, voices: ElevenLabsVoice[], keys: string[]): Answer {
  const { method, path, request } = call
  const apiKey = request.headers['xi-api-key']
  if (typeof apiKey !== 'string' || !keys.includes(apiKey)) return refusals.key()
  call.key = apiKey
  if (method === 'GET' && path === '/v1/voices') return { status: 200, body: { voices: voices.map(voiceRow) } }
  if (method === 'GET' && path === '/v2/voices') return page(request.query, voices)
  if (method === 'GET' && path === '/v1/models') return { status: 200, body: speaking.map(modelOf) }
  if (method === 'POST' && path === '/v1/speech-to-text') return listen(call)
  const match = /^\/v1\/text-to-speech\/([^/]+)(\/stream)?(\/with-timestamps)?$/.exec(path)
  if (method !== 'POST' || !match) return { status: 404, body: { detail: 'Not Found' } }
  return speak(call, voices, {
    name: match[1] ?? '',
    streams: match[2] !== undefined,
    timed: match[3] !== undefined,
  })
}

type Way = { name: string; streams: boolean; timed: boolean }

function speak(call: Call, voices: ElevenLabsVoice[], { name, streams, timed: isTimed }: Way): Answer {
  const { behaviour, request } = call
  const body = parse(request.body)
  if (!body) return invalid({ kind: 'type', path: [], rule: speech, value: undefined })
  const fault = check(speech, body)
  if (fault) return invalid(fault)
  const odd = [...request.query.keys()].find(
    (one) => !['output_format', 'enable_logging', 'optimize_streaming_latency'].includes(one),
  )
  const format = request.query.get('output_format') ?? 'mp3_44100_128'
  const query = (kind: Fault['kind'], at: string) => invalid({ kind, path: [at], rule: speech, value: '' }, 'query')
  if (odd !== undefined) return query('unknown', odd)
  if (!formats.test(format)) return query('value', 'output_format')
  if (!voices.some((voice) => voice.id === name)) {
    return problem(404, 'voice_not_found', `A voice with the voice_id ${name} was not found.`)
  }
  const model = body['model_id'] ?? 'eleven_multilingual_v2'
  if (!speaking.includes(model))
    return problem(400, 'model_not_found', `A model with model ID ${model} does not exist.`)
  const characters = [...body['text']]
  if (characters.length > MAX_CHARACTERS) {
    return problem(
      400,
      'max_character_limit_exceeded',
      `This request exceeds the limit of ${MAX_CHARACTERS} characters.`,
    )
  }
  if (behaviour.media?.moderated) {
    return problem(400, 'content_against_policy', 'The text violates our Terms of Service and was blocked.')
  }
  const seconds = behaviour.media?.seconds ?? characters.length / 15 / (body['voice_settings']?.speed ?? 1)
  const file = spoil(encodeSpeech(seconds, format), behaviour.media?.spoiled)
  const headers = { 'character-cost': String(characters.length) }
  if (!isTimed) {
    const whole = wholeOf(file, streams ? PIECE_BYTES : undefined)
    return { ...whole, headers: { ...whole.headers, ...headers } }
  }
  const alignment = timesOf(characters, seconds)
  if (!streams) {
    const speechFields = { audio_base64: file.bytes.toString('base64'), alignment, normalized_alignment: alignment }
    return { status: 200, body: speechFields, headers }
  }
  const frames: Frame[] = Array.from({ length: Math.ceil(file.bytes.length / PIECE_BYTES) }, (_, n) => {
    const piece = file.bytes.subarray(n * PIECE_BYTES, (n + 1) * PIECE_BYTES).toString('base64')
    const times = n === 0 ? alignment : null
    return { data: { audio_base64: piece, alignment: times, normalized_alignment: times } }
  })
  return { format: 'ndjson', frames, opening: 0, closing: 0, failure: () => [], headers }
}

function encodeSpeech(seconds: number, format: string): MediaFile {
  const [codec, rate = '0'] = format.split('_')
  if (codec === 'mp3') return sound(seconds, 'mp3')
  if (codec === 'opus') return sound(seconds, 'opus')
  if (codec === 'pcm') return { bytes: pcm(seconds, Number(rate)), type: 'audio/pcm' }
  return { bytes: Buffer.alloc(Math.round(seconds * 8_000), codec === 'ulaw' ? 0xff : 0xd5), type: 'audio/basic' }
}

function timesOf(characters: string[], seconds: number): Json {
  const at = (n: number) => Math.round((seconds * n * 1_000) / characters.length) / 1_000
  return {
    characters,
    character_start_times_seconds: characters.map((_, n) => at(n)),
    character_end_times_seconds: characters.map((_, n) => at(n + 1)),
  }
}

function listen(call: Call): Answer {
  const parts = partsOf(call.request)
  if (typeof parts === 'string')
    return invalid({ kind: 'missing', path: ['model_id'], rule: hearing, value: undefined })
  const odd = [...call.request.query.keys()].find((name) => name !== 'enable_logging')
  if (odd !== undefined) return invalid({ kind: 'unknown', path: [odd], rule: hearing, value: '' }, 'query')
  const body = bodyOf(parts, { ...hearing, fields: { ...hearing.fields, diarize: { kind: 'string' } } })
  const options = {
    ...body,
    ...('diarize' in body ? { diarize: [body['diarize']].flat().at(-1) === 'true' } : {}),
  } as Json
  const fault = check(hearing, options)
  if (fault) return invalid(fault)
  const sources = ['file', 'cloud_storage_url', 'source_url'].filter((name) => options[name] !== undefined)
  if (sources.length !== 1) {
    return problem(400, 'invalid_request', 'Exactly one of the file or cloud_storage_url parameters must be provided.')
  }
  const file: unknown = options['file']
  if (isUpload(file) && soundIn(file.bytes) === undefined && options['file_format'] !== 'pcm_s16le_16') {
    return problem(400, 'invalid_content', 'File upload is corrupted. Please ensure it is playable audio.')
  }
  const transcript = transcriptOf(isUpload(file) ? file.bytes : Buffer.alloc(0), call.behaviour.media)
  const heardWords = wordsOf(transcript, options)
  const transcriptFields = {
    language_code: 'eng',
    language_probability: 0.98,
    text: transcript.text,
    words: heardWords,
  }
  return {
    status: 200,
    body: { ...transcriptFields, transcription_id: id('', 20), audio_duration_secs: transcript.seconds },
  }
}

/** The words, and the spaces between them as separate words. */
function wordsOf({ segments }: Transcript, { timestamps_granularity: times = 'word', diarize }: Json): Json[] {
  const all = segments.flatMap((segment) => segment.words.map((word) => ({ ...word, speaker: segment.speaker })))
  const shownWord = (word: string, type: string, start: number, end: number, speaker: string): Json => ({
    text: word,
    ...(times === 'none' ? {} : { start, end }),
    type,
    ...(diarize ? { speaker_id: `speaker_${speaker.charCodeAt(0) - 65}` } : {}),
    logprob: 0,
    ...(times === 'character' ? { characters: [...word].map((one) => ({ text: one, start, end })) } : {}),
  })
  return all.flatMap(({ word, start, end, speaker }, n) => [
    ...(n === 0 ? [] : [shownWord(' ', 'spacing', start, start, speaker)]),
    shownWord(word, 'word', start, end, speaker),
  ])
}

function voiceRow({ id: voice_id, name, gender, language, locale }: ElevenLabsVoice): Json {
  return {
    voice_id,
    name,
    category: 'premade',
    labels: { gender, language, accent: 'neutral', age: 'young', use_case: 'narration', descriptive: 'calm' },
    description: `${name} of the loopback`,
    preview_url: `https://storage.example/${voice_id}.mp3`,
    available_for_tiers: [],
    settings: null,
    sharing: null,
    high_quality_base_model_ids: ['eleven_multilingual_v2'],
    verified_languages: [{ language, model_id: 'eleven_multilingual_v2', accent: null, locale, preview_url: null }],
    is_owner: false,
    is_legacy: false,
    created_at_unix: 1_700_000_000,
  }
}

function page(query: URLSearchParams, voices: ElevenLabsVoice[]): Whole {
  const like = query.get('search')?.toLowerCase()
  const matches = voices.filter(
    ({ name, gender, language }) =>
      (like === undefined || name.toLowerCase().includes(like)) &&
      (query.get('gender') ?? gender) === gender &&
      (query.get('language') ?? language) === language,
  )
  const size = Math.min(100, Number(query.get('page_size') ?? 10))
  const from = Number(query.get('next_page_token') ?? 0)
  const more = from + size < matches.length
  const shownPage = matches.slice(from, from + size).map(voiceRow)
  const next = more ? String(from + size) : null
  return {
    status: 200,
    body: { voices: shownPage, has_more: more, total_count: matches.length, next_page_token: next },
  }
}

function modelOf(model_id: string): Json {
  return {
    model_id,
    name: model_id,
    can_do_text_to_speech: true,
    can_do_voice_conversion: false,
    languages: [{ language_id: 'en', name: 'English' }],
    maximum_text_length_per_request: MAX_CHARACTERS,
  }
}
