import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Pcm } from '../facts.ts'
import type { EncodeAnswer, EncodeRequest } from './encode-thread.ts'

export interface Encoders extends AsyncDisposable {
  encode(
    pcm: Pcm,
    format: 'mp3' | 'opus',
    comment?: string,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined>
}

const program = join(import.meta.dirname, 'encode-thread.ts')
const IDLE_MS = 60_000
/**
 * Bytes encoded per turn: 1.4 s at 24 kHz, about 15 ms of work. The first part is smaller, because a listener waits for
 * it.
 */
const PART = 64 << 10
const FIRST = 8 << 10

type Unsent<R> = R extends unknown ? Omit<R, 'call' | 'sound'> : never

export function createEncoders(): Encoders {
  let worker: Worker | null = null
  let idle: NodeJS.Timeout | undefined
  let [calls, sounds, open] = [0, 0, 0]
  const waiting = new Map<number, { resolve: (bytes: Uint8Array) => void; reject: (error: Error) => void }>()

  function start(): Worker {
    const fresh = new Worker(program, {
      // The Opus library's native code crashes the process when its thread ends, so the WebAssembly version is used.
      env: { OPUS_FORCE_WASM: '1' },
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    })
    fresh.unref()
    fresh.on('message', ({ call, ...answer }: EncodeAnswer) => {
      const { resolve, reject } = waiting.get(call)!
      waiting.delete(call)
      if ('bytes' in answer) resolve(answer.bytes)
      else reject(new Error(answer.error))
    })
    const onExit = (): void => {
      if (worker === fresh) worker = null
      for (const { reject } of waiting.values()) reject(new Error('The thread that encodes sound has ended.'))
      waiting.clear()
    }
    fresh.on('error', onExit).on('exit', onExit)
    return fresh
  }

  function ask(sound: number, request: Unsent<EncodeRequest>): Promise<Uint8Array> {
    worker ??= start()
    const call = calls++
    const answer = new Promise<Uint8Array>((resolve, reject) => waiting.set(call, { resolve, reject }))
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage({ ...request, call, sound })
    return answer
  }

  return {
    async *encode({ sampleRate, bytes }, format, comment = '', signal) {
      const sound = sounds++
      open += 1
      clearTimeout(idle)
      const keep = setInterval(() => {}, 2 ** 30)
      try {
        const head = await ask(sound, { do: 'open', format, sampleRate, comment })
        if (head.length > 0) yield head
        let most = FIRST
        for await (const whole of bytes)
          for (let at = 0; at < whole.length;) {
            signal?.throwIfAborted()
            const pcm = new Uint8Array(whole.subarray(at, at + most))
            at += pcm.length
            most = PART
            const piece = await ask(sound, { do: 'encode', pcm })
            if (piece.length > 0) yield piece
          }
        yield await ask(sound, { do: 'end' })
      } finally {
        clearInterval(keep)
        if (worker !== null) ask(sound, { do: 'drop' }).catch(() => {})
        open -= 1
        if (open === 0) idle = setTimeout(() => void worker?.terminate(), IDLE_MS).unref()
      }
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(idle)
      await worker?.terminate()
    },
  }
}
