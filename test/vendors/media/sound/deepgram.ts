// Deepgram on loopback: speech streamed while it is generated, transcripts of a raw body or a URL.
//
// Sources: @deepgram/sdk 5.13.0 (query fields, encodings, ErrorResponseLegacyError, ListenV1Response); @ai-sdk/deepgram
// (a recorded transcript, containers and rates per encoding); media.md 2.
//
// Unknown, so only guessed: the words of errors and some codes; whether unknown parameters are rejected (they are
// here); the status of a text that is too long (413 here); the answer to a file that isn't audio; response headers
// except `dg-request-id`.
import { createHash, randomUUID } from 'node:crypto'
import type { Answer, Whole } from '../../delivery/deliver.ts'
import { parse } from '../../delivery/plan.ts'
import { serve, type Call } from '../../server.ts'
import type { Json, Options, Refusal } from '../../vendor.ts'
import { mediaVendor, type MediaVendor } from '../jobs/jobs.ts'
import { wholeOf, spoil, type MediaFile } from '../made/file.ts'
import { pcm, sound, soundIn, wav } from '../made/sound.ts'
import { transcriptOf, type Transcript } from '../made/transcript.ts'

const voices = ['aura-2-thalia-en', 'aura-2-apollo-en', 'aura-2-celeste-es', 'aura-asteria-en']
const ears = ['nova-3', 'nova-3-medical', 'nova-2', 'enhanced', 'base', 'whisper-large']
const MAX_CHARACTERS = 2_000
const PIECE_BYTES = 4_096

/** Its base URL is `<origin>/v1`. */
export async function deepgramMedia(options: Options<never> = {}): Promise<MediaVendor> {
  const { otherwise, key = 'dg-loopback', keys = [] } = options
  const vendor = await serve({
    key,
    otherwise,
    answer: (call) => answer(call, [key, ...keys]),
    failure: ({ status, code, message }) => problem(status, code ?? codes[status] ?? 'INTERNAL_SERVER_ERROR', message),
    refusals,
    headers: () => ({ 'dg-request-id': randomUUID() }),
  })
  return mediaVendor(vendor, {})
}

const codes: Record<number, string> = { 400: 'Bad Request', 429: 'TOO_MANY_REQUESTS', 503: 'SERVICE_UNAVAILABLE' }

function problem(status: number, err_code: string, err_msg = 'Please try again later.'): Whole {
  return { status, body: { err_code, err_msg, request_id: randomUUID() } }
}

const refusals: Record<Refusal, () => Whole> = {
  key: () => problem(401, 'INVALID_AUTH', 'Invalid credentials.'),
  permission: () => problem(403, 'INSUFFICIENT_PERMISSIONS', 'The user does not have the required permissions.'),
  quota: () => problem(402, 'ASR_PAYMENT_REQUIRED', 'Project does not have enough credits for an ASR request.'),
  throttle: () => problem(429, 'TOO_MANY_REQUESTS', 'Too many requests. Please try again later.'),
}

const both = 'model encoding callback callback_method mip_opt_out tag'
const saying = `${both} container sample_rate bit_rate speed`.split(' ')
const understanding =
  'extra sentiment summarize topics custom_topic custom_topic_mode intents custom_intent custom_intent_mode detect_entities'
const writing =
  'diarize diarize_model dictation filler_words keyterm keywords measurements multichannel numerals paragraphs profanity_filter'
const rest = 'detect_language language punctuate redact replace search smart_format utterances utt_split version'
const listening = `${both} ${understanding} ${writing} ${rest}`.split(' ')

function answer(call: Call, keys: string[]): Answer {
  const { method, path, request } = call
  // It neither takes nor checks a key.
  if (method === 'GET' && path === '/v1/models') return { status: 200, body: models() }
  const apiKey = /^(?:Token|Bearer) (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (apiKey === undefined || !keys.includes(apiKey)) return refusals.key()
  call.key = apiKey
  if (method === 'POST' && path === '/v1/speak') return refusedQuery(request.query, saying) ?? speak(call)
  if (method === 'POST' && path === '/v1/listen') return refusedQuery(request.query, listening) ?? listen(call)
  return problem(404, 'NOT_FOUND', 'The requested resource was not found.')
}

/** As on its page about model metadata; the contents of `tags` are a guess. */
function models(): Json {
  const versionFields = { version: '2025-04-07.0', uuid: randomUUID() }
  return {
    stt: ears.map((name) => ({ name, canonical_name: name, architecture: name, languages: ['en'], ...versionFields })),
    tts: voices.map((canonical_name) => {
      const [, voice = '', language = ''] = /^aura(?:-2)?-(.+)-(..)$/.exec(canonical_name) ?? []
      return {
        name: voice,
        canonical_name,
        architecture: canonical_name.startsWith('aura-2') ? 'aura-2' : 'aura',
        languages: [language, `${language}-US`],
        ...versionFields,
        metadata: {
          accent: 'American',
          color: '#BA80F5',
          sample: `https://samples.example/${voice}.wav`,
          tags: ['feminine'],
        },
      }
    }),
  }
}

function refusedQuery(query: URLSearchParams, knownNames: string[]): Whole | undefined {
  const odd = [...query.keys()].find((name) => !knownNames.includes(name))
  return odd === undefined ? undefined : problem(400, 'Bad Request', `Failed to deserialize query parameters: ${odd}`)
}

/** The rates of each encoding, the default first; no list: a fixed rate. */
const encodings: Record<string, { rates?: number[]; containers: string[] }> = {
  linear16: { rates: [24_000, 8_000, 16_000, 32_000, 48_000], containers: ['wav', 'none'] },
  mulaw: { rates: [8_000, 16_000], containers: ['wav', 'none'] },
  alaw: { rates: [8_000, 16_000], containers: ['wav', 'none'] },
  flac: { rates: [22_050, 8_000, 16_000, 32_000, 48_000], containers: [] },
  mp3: { containers: [] },
  opus: { containers: ['ogg'] },
  aac: { containers: [] },
}

function speak(call: Call): Answer {
  const { behaviour, request } = call
  const body = parse(request.body)
  const odd = body && Object.keys(body).find((name) => name !== 'text')
  if (!body || odd !== undefined || typeof body['text'] !== 'string' || body['text'] === '') {
    return problem(400, 'PAYLOAD_ERROR', 'Failed to deserialize JSON payload. It holds `text` and nothing else.')
  }
  const text: string = body['text']
  if ([...text].length > MAX_CHARACTERS) {
    return problem(413, 'PAYLOAD_TOO_LARGE', `Input text exceeds maximum character limit of ${MAX_CHARACTERS}.`)
  }
  const model = request.query.get('model') ?? 'aura-asteria-en'
  if (!voices.includes(model))
    return problem(400, 'INVALID_QUERY_PARAMETER', `No such model/version combination found.`)
  const encoding = request.query.get('encoding') ?? 'mp3'
  const rule = encodings[encoding]
  if (!rule) return problem(400, 'UNSUPPORTED_AUDIO_FORMAT', `Encoding ${encoding} is not supported.`)
  const container = request.query.get('container') ?? rule.containers[0]
  if (container !== undefined && !rule.containers.includes(container)) {
    return problem(
      400,
      'UNSUPPORTED_AUDIO_FORMAT',
      `Container ${container} is not applicable when encoding=${encoding}.`,
    )
  }
  const rate = request.query.get('sample_rate')
  if (rate !== null && !rule.rates?.includes(Number(rate))) {
    return problem(400, 'UNSUPPORTED_AUDIO_FORMAT', `sample_rate ${rate} is not applicable when encoding=${encoding}.`)
  }
  const seconds = behaviour.media?.seconds ?? [...text].length / 15
  const file = encodeSpeech(seconds, encoding, container, Number(rate ?? rule.rates?.[0]))
  const whole = wholeOf(spoil(file, behaviour.media?.spoiled), PIECE_BYTES)
  const headers = { 'dg-model-name': model, 'dg-char-count': String([...text].length) }
  return { ...whole, headers: { ...whole.headers, ...headers } }
}

function encodeSpeech(seconds: number, encoding: string, container: string | undefined, rate: number): MediaFile {
  if (encoding === 'linear16') {
    if (container === 'wav') return { bytes: wav(seconds, rate), type: 'audio/wav' }
    return { bytes: pcm(seconds, rate), type: `audio/l16;rate=${rate};channels=1` }
  }
  if (encoding === 'mulaw' || encoding === 'alaw') {
    return { bytes: Buffer.alloc(Math.round(seconds * rate), encoding === 'mulaw' ? 0xff : 0xd5), type: 'audio/basic' }
  }
  return sound(seconds, encoding as 'mp3' | 'opus' | 'flac' | 'aac')
}

function listen(call: Call): Answer {
  const { request, behaviour } = call
  const json = /^application\/json/i.test(request.headers['content-type'] ?? '')
  const body = json ? parse(request.body) : undefined
  if (json && typeof body?.['url'] !== 'string') return problem(400, 'PAYLOAD_ERROR', 'The JSON body holds no `url`.')
  if (!json && soundIn(request.body) === undefined && request.query.get('encoding') === null) {
    return problem(400, 'Bad Request', 'Bad Request: failed to process audio: corrupt or unsupported data')
  }
  const model = request.query.get('model') ?? 'base'
  if (!ears.includes(model)) return problem(400, 'Bad Request', 'Bad Request: No such model/version combination found.')
  if (request.query.has('callback')) return { status: 200, body: { request_id: randomUUID() } }
  const transcript = transcriptOf(json ? Buffer.alloc(0) : request.body, {
    ...(json ? { seconds: 2 } : {}),
    ...behaviour.media,
  })
  return { status: 200, body: transcriptBody(request.query, request.body, transcript, model) }
}

function transcriptBody(query: URLSearchParams, bytes: Buffer, heard: Transcript, model: string): Json {
  const on = (name: string) => query.get(name) === 'true'
  const speakers = on('diarize') || query.has('diarize_model')
  const isFormatted = on('smart_format') || on('punctuate')
  const plain = (text: string) => text.toLowerCase().replace(/[.,!?]/g, '')
  const words = heard.segments.flatMap((segment) =>
    segment.words.map(({ word, start, end }) => ({
      word: plain(word),
      start,
      end,
      confidence: 0.99,
      ...(speakers ? { speaker: segment.speaker.charCodeAt(0) - 65, speaker_confidence: 0.9 } : {}),
      ...(isFormatted ? { punctuated_word: word } : {}),
    })),
  )
  const transcript = isFormatted ? heard.text : plain(heard.text)
  const language = on('detect_language') ? { detected_language: 'en', language_confidence: 0.99 } : {}
  const utterances = heard.segments.map(({ start, end, text, speaker }) => ({
    start,
    end,
    confidence: 0.99,
    channel: 0,
    transcript: isFormatted ? text : plain(text),
    words: words.filter((word) => word.start >= start && word.end <= end),
    ...(speakers ? { speaker: speaker.charCodeAt(0) - 65 } : {}),
    id: randomUUID(),
  }))
  const name = randomUUID()
  return {
    metadata: {
      transaction_key: 'deprecated',
      request_id: randomUUID(),
      sha256: createHash('sha256').update(bytes).digest('hex'),
      created: new Date().toISOString(),
      duration: heard.seconds,
      channels: 1,
      models: [name],
      model_info: { [name]: { name: `general-${model}`, version: '2025-07-31.0', arch: model } },
    },
    results: {
      channels: [{ alternatives: [{ transcript, confidence: 0.99, words }], ...language }],
      ...(on('utterances') ? { utterances } : {}),
    },
  }
}
