// whisper.cpp's server on loopback. It takes no key and no model, and ignores unknown fields.
//
// Sources: whisper.cpp, examples/server/server.cpp and README.md.
//
// Unknown, so only guessed: some fields of verbose_json.
import type { Answer, Whole } from '../../delivery/deliver.ts'
import { serve, type Call } from '../../server.ts'
import type { Behaviour } from '../../vendor.ts'
import { mediaVendor, type MediaVendor } from '../jobs/jobs.ts'
import { soundIn } from '../made/sound.ts'
import { srt, transcriptOf, vtt, wordsOf } from '../made/transcript.ts'
import { isUpload, partsOf } from '../multipart.ts'

/** `path`: where it listens (`--inference-path`). `converts`: it was started with `--convert` and has ffmpeg. */
export type WhisperCppOptions = { path?: string; converts?: boolean; otherwise?: Behaviour }

export async function whisperCppMedia(options: WhisperCppOptions = {}): Promise<MediaVendor> {
  const { path = '/inference', converts = false, otherwise } = options
  const vendor = await serve({
    key: '',
    otherwise,
    answer: (call) => answer(call, path, converts),
    failure: ({ status, message }) => fault(status, message ?? 'failed to process audio'),
    headers: () => ({ server: 'whisper.cpp' }),
  })
  return mediaVendor(vendor, {})
}

function fault(status: number, error: string): Whole {
  return { status, body: { error } }
}

function answer({ method, path, request, behaviour }: Call, at: string, converts: boolean): Answer {
  if (method === 'GET' && path === '/health') return { status: 200, body: { status: 'ok' } }
  if (method !== 'POST' || path !== at) return { status: 404, body: 'File Not Found' }
  const parts = partsOf(request)
  const formParts = typeof parts === 'string' ? [] : parts
  const file = formParts.find(({ name }) => name === 'file')?.value
  if (file === undefined) return fault(400, "no 'file' field in the request")
  const bytes = isUpload(file) ? file.bytes : Buffer.from(file)
  const kind = soundIn(bytes)
  if (converts && kind === undefined) return fault(500, 'FFmpeg conversion failed.')
  if (!converts && !['wav', 'mp3', 'flac'].includes(kind ?? '')) return fault(400, 'failed to read audio data')
  const text = (name: string) => formParts.find((part) => part.name === name && typeof part.value === 'string')?.value
  const transcript = transcriptOf(bytes, behaviour.media)
  const lines = transcript.segments.map((segment) => ` ${segment.text}\n`).join('')
  const plain = (body: string, type: string): Whole => ({ status: 200, body, headers: { 'content-type': type } })
  const format = text('response_format') ?? 'json'
  if (format === 'text') return plain(lines, 'text/html; charset=utf-8')
  if (format === 'srt') return plain(srt(transcript), 'application/x-subrip')
  if (format === 'vtt') return plain(vtt(transcript), 'text/vtt')
  if (format !== 'verbose_json') return { status: 200, body: { text: lines } }
  const segments = transcript.segments.map((segment, n) => ({
    id: n,
    text: ` ${segment.text}`,
    start: segment.start,
    end: segment.end,
    tokens: [50_364 + n],
    words: segment.words.map((word) => ({ ...word, word: ` ${word.word}`, t_dtw: -1, probability: 0.9 })),
    temperature: Number(text('temperature') ?? 0),
    avg_logprob: -0.2,
    no_speech_prob: 0.01,
  }))
  const task = text('translate') === 'true' ? 'translate' : 'transcribe'
  const fileInfo = {
    detected_language: 'english',
    detected_language_probability: 0.99,
    language_probabilities: { en: 0.99 },
  }
  const length = wordsOf(transcript).at(-1)?.end ?? transcript.seconds
  return { status: 200, body: { task, language: 'english', duration: length, text: lines, segments, ...fileInfo } }
}
