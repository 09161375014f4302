// speaches on loopback: transcripts, translations, and speech in OpenAI's shape with installed models.
//
// Sources: speaches, src/speaches/routers/stt.py and speech.py (FastAPI: unknown fields are ignored).
//
// Unknown, so only guessed: the words for a model that isn't installed; the contents of its model list beyond IDs.
import type { Answer, Frame, Whole } from '../../delivery/deliver.ts'
import { parse, tokens } from '../../delivery/plan.ts'
import { entryOf } from '../../openai/openai.ts'
import { check, type Fault, type Rule } from '../../rules.ts'
import { serve, type Call } from '../../server.ts'
import type { Behaviour } from '../../vendor.ts'
import { mediaVendor, type MediaVendor } from '../jobs/jobs.ts'
import { wholeOf, spoil } from '../made/file.ts'
import { sound, soundIn, type SoundFormat } from '../made/sound.ts'
import { srt, transcriptOf, vtt } from '../made/transcript.ts'
import { bodyOf, isUpload, partsOf } from '../multipart.ts'
import { verbose } from '../openai/transcriptions.ts'

const PIECE_BYTES = 4_096

/** `key`: it was started with an API key; else it requires none. */
export type SpeachesOptions = { hears?: string[]; speaks?: string[]; key?: string; otherwise?: Behaviour }

/** Its base URL is `<origin>/v1`. */
export async function speachesMedia(options: SpeachesOptions = {}): Promise<MediaVendor> {
  const { key = '', otherwise } = options
  const hears = options.hears ?? ['Systran/faster-whisper-small']
  const speaks = options.speaks ?? ['speaches-ai/Kokoro-82M-v1.0-ONNX']
  const vendor = await serve({
    key,
    otherwise,
    answer: (call) => answer(call, { hears, speaks, key }),
    failure: ({ status, message }) => ({ status, body: { detail: message ?? 'Internal Server Error' } }),
    headers: () => ({ server: 'uvicorn' }),
  })
  return mediaVendor(vendor, {})
}

const text: Rule = { kind: 'string', required: true }
const hearing: Rule = {
  kind: 'object',
  fields: {
    file: { kind: 'object', required: true },
    model: text,
    language: { kind: 'string' },
    prompt: { kind: 'string' },
    response_format: { kind: 'string', values: ['text', 'json', 'verbose_json', 'srt', 'vtt'] },
    temperature: { kind: 'number' },
    timestamp_granularities: { kind: 'array', items: { kind: 'string', values: ['segment', 'word'] } },
    stream: { kind: 'boolean' },
    hotwords: { kind: 'string' },
    without_timestamps: { kind: 'boolean' },
  },
}
const speech: Rule = {
  kind: 'object',
  required: true,
  fields: {
    model: text,
    input: text,
    voice: text,
    response_format: { kind: 'string', values: ['mp3', 'flac', 'wav', 'pcm', 'opus', 'aac'] },
    speed: { kind: 'number' },
    stream_format: { kind: 'string', values: ['audio', 'sse'] },
    sample_rate: { kind: 'integer', nullable: true },
  },
}

type Shop = { hears: string[]; speaks: string[]; key: string }

function answer(call: Call, { hears, speaks, key }: Shop): Answer {
  const { method, path, request } = call
  if (key !== '' && request.headers.authorization !== `Bearer ${key}`) {
    return { status: 403, body: { detail: 'Not authenticated' } }
  }
  if (method === 'GET' && path === '/v1/models') {
    return { status: 200, body: { object: 'list', data: [...hears, ...speaks].map((id) => entryOf({ id })) } }
  }
  if (method === 'POST' && path === '/v1/audio/speech') return speak(call, speaks)
  const match = /^\/v1\/audio\/(transcriptions|translations)$/.test(path)
  return method === 'POST' && match ? listen(call, hears) : { status: 404, body: { detail: 'Not Found' } }
}

function invalid(fault?: Fault): Whole {
  const detail = { type: fault?.kind ?? 'json_invalid', loc: ['body', ...(fault?.path ?? [])], msg: 'Invalid' }
  return { status: 422, body: { detail: [detail] } }
}

function missing(model: string): Whole {
  return { status: 404, body: { detail: `Model '${model}' is not installed locally.` } }
}

function speak({ request, behaviour }: Call, models: string[]): Answer {
  const body = parse(request.body)
  const fault = check(speech, body)
  if (!body || fault) return invalid(fault)
  if (!models.includes(body['model'])) return missing(body['model'])
  const seconds = behaviour.media?.seconds ?? [...body['input']].length / 15
  const format = (body['response_format'] ?? 'mp3') as SoundFormat
  const file = spoil(sound(seconds, format, body['sample_rate'] ?? 24_000), behaviour.media?.spoiled)
  if (body['stream_format'] !== 'sse') return wholeOf(file, PIECE_BYTES)
  const frames: Frame[] = Array.from({ length: Math.ceil(file.bytes.length / PIECE_BYTES) }, (_, n) => {
    const piece = file.bytes.subarray(n * PIECE_BYTES, (n + 1) * PIECE_BYTES)
    return { data: { type: 'speech.audio.delta', audio: piece.toString('base64') } }
  })
  const token_usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  frames.push({ data: { type: 'speech.audio.done', token_usage } })
  return { format: 'sse', frames, opening: 0, closing: 1, failure: () => [] }
}

function listen({ request, behaviour, path }: Call, models: string[]): Answer {
  const parts = partsOf(request)
  if (typeof parts === 'string') return invalid()
  const body = bodyOf(parts, hearing)
  const fault = check(hearing, body)
  if (fault) return invalid(fault)
  if (!models.includes(body['model'])) return missing(body['model'])
  const file: unknown = body['file']
  if (!isUpload(file) || soundIn(file.bytes) === undefined) {
    return { status: 415, body: { detail: 'Failed to decode audio. The provided file type is not supported.' } }
  }
  const transcript = transcriptOf(file.bytes, behaviour.media)
  if (body['stream'] && path.endsWith('transcriptions')) {
    const deltas = tokens(transcript.text).map((delta) => ({ data: { type: 'transcript.text.delta', delta } }))
    const frames: Frame[] = [...deltas, { data: { type: 'transcript.text.done', text: transcript.text } }]
    return { format: 'sse', frames, opening: 0, closing: 1, failure: () => [] }
  }
  const plain = (whole: string, type = 'text/plain'): Whole => ({
    status: 200,
    body: whole,
    headers: { 'content-type': type },
  })
  const format = body['response_format'] ?? 'json'
  if (format === 'text') return plain(transcript.text)
  if (format === 'srt') return plain(srt(transcript))
  if (format === 'vtt') return plain(vtt(transcript), 'text/vtt')
  return { status: 200, body: format === 'verbose_json' ? verbose(body, transcript) : { text: transcript.text } }
}
