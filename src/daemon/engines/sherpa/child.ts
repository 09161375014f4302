/**
 * The sherpa-onnx process: speech to text over HTTP on a Unix socket, with the model's folder in `x-model-path` and
 * a `SpeechModel` as JSON in `x-model-files`. A crash ends only this process.
 * Usage: `main.ts sherpa SOCKET FOLDER`. FOLDER contains `node_modules/sherpa-onnx-node`. Exits when stdin closes.
 */
import type { ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { BadRequest, answerSocket, bodyOf, json } from '../answer-socket.ts'
import type { Binding, Recognizer } from './binding.ts'
import type { SpeechModel } from '../speech-model/model-files.ts'
import { wordsOf } from './words.ts'

/** Base64 of 16-bit little-endian mono samples. */
const TranscriptionRequest = z.object({
  sample_rate: z.number().int().min(8_000).max(96_000),
  samples: z.base64(),
  /** ISO 639-1. Null: detected by the model. */
  language: z.string().nullish(),
})

/** Whisper's window. Models that accept longer audio read only this much. */
const MAX_SECONDS = 30
const MAX_MODELS = 2
/** The engine frees memory only when its process exits. */
const IDLE_MS = 5 * 60_000
const FEATURES = { sampleRate: 16_000, featureDim: 80 }

export async function runSherpa([socket, folder]: readonly string[]): Promise<void> {
  if (socket === undefined || folder === undefined) throw new Error('give SOCKET and FOLDER')
  const binding = createRequire(join(folder, 'node_modules/'))('sherpa-onnx-node') as Binding
  const recognizers = new Map<string, Promise<Recognizer>>()
  let turn: Promise<unknown> = Promise.resolve()
  const idle = setTimeout(() => process.exit(0), IDLE_MS)

  answerSocket(socket, async (request, response) => {
    const header = (name: string): string => decodeURIComponent(String(request.headers[name]))
    if (request.url === '/loaded')
      return json(response, 200, { loaded: [...recognizers.keys()], memory_bytes: process.memoryUsage.rss() })
    idle.refresh()
    const input = parseRequest(await bodyOf(request))
    const sound = samplesOf(input.samples)
    const seconds = sound.length / input.sample_rate
    if (seconds > MAX_SECONDS)
      throw new BadRequest(`A request can contain up to ${MAX_SECONDS} seconds of audio.`, 'samples')
    const disconnect = new AbortController()
    response.once('close', () => disconnect.abort())
    // One at a time: two would share the processor and need twice the memory.
    const mine = turn.then(async () => {
      if (disconnect.signal.aborted) return
      const recognizer = await load(
        header('x-model-path'),
        JSON.parse(header('x-model-files')) as SpeechModel,
        input.language,
      )
      idle.refresh()
      await recognize(recognizer, { sampleRate: input.sample_rate, samples: sound, seconds }, response)
    })
    turn = mine.catch(() => {})
    await mine
  })

  function load(path: string, model: SpeechModel, language: string | null | undefined): Promise<Recognizer> {
    const key = `${path} ${language ?? ''}`
    const cached = recognizers.get(key)
    recognizers.delete(key)
    const loading = cached ?? binding.OfflineRecognizer.createAsync(configOf(path, model, language ?? null))
    recognizers.set(key, loading)
    loading.catch(() => recognizers.delete(key))
    for (const old of [...recognizers.keys()].slice(0, -MAX_MODELS)) recognizers.delete(old)
    return loading
  }
}

async function recognize(
  recognizer: Recognizer,
  { seconds, ...sound }: { sampleRate: number; samples: Float32Array; seconds: number },
  response: ServerResponse,
): Promise<void> {
  const stream = recognizer.createStream()
  stream.acceptWaveform(sound)
  const result = await recognizer.decodeAsync(stream)
  const language = result.lang?.replaceAll(/[<|>]/g, '') || null
  json(response, 200, { text: result.text.trim(), language, words: wordsOf(result, seconds) })
}

const configOf = (path: string, { kind, files, tokens }: SpeechModel, language: string | null) => ({
  featConfig: FEATURES,
  modelConfig: {
    [kind]: {
      ...Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(path, file)])),
      ...(['whisper', 'senseVoice'].includes(kind) && { language: language ?? (kind === 'whisper' ? '' : 'auto') }),
      ...(kind === 'senseVoice' && { useInverseTextNormalization: 1 }),
    },
    tokens: join(path, tokens),
    numThreads: Math.max(1, availableParallelism() - 1),
    provider: 'cpu' as const,
    debug: 0 as const,
  },
})

function parseRequest(body: string): z.infer<typeof TranscriptionRequest> {
  try {
    return TranscriptionRequest.parse(JSON.parse(body))
  } catch (error) {
    const param = error instanceof z.ZodError ? (error.issues[0]?.path.join('.') ?? null) : null
    throw new BadRequest('This isn’t a valid transcription request.', param)
  }
}

function samplesOf(base64: string): Float32Array {
  const bytes = Buffer.from(base64, 'base64')
  return Float32Array.from({ length: bytes.length >> 1 }, (_, i) => bytes.readInt16LE(i * 2) / 32_768)
}
