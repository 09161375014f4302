import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { InvalidPattern } from '#packages/linear-grep/regex/pattern.ts'
import { AT_FILE, STOP, type ScanReply, type ScanRequest } from './scan.ts'

const program = join(import.meta.dirname, 'scan-thread.ts')
const IDLE_MS = 60_000
const LEAVE_MS = 500

export interface Thread {
  /** `lost`: the thread was killed at this file. Throws `InvalidPattern`, and the signal's reason immediately. */
  ask(request: ScanRequest, signal?: AbortSignal): Promise<ScanReply | { lost: number }>
  /** Resolves when the thread is idle; kills it if it doesn't stop for a departed caller. */
  waitUntilStopped(signal?: AbortSignal): Promise<void>
  end(): Promise<void>
}

export function startThread(hardMs: number, onExit: (thread: Thread) => void): Thread {
  const sharedState = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(program, {
    env: {},
    workerData: sharedState,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  })
  worker.unref()
  let running: Promise<unknown> = Promise.resolve()
  let idle: NodeJS.Timeout | undefined
  let hasEnded = false
  const { promise: exit, resolve: goes } = Promise.withResolvers<'gone'>()
  // Usually out of memory: the request is too large.
  worker.on('error', () => void end())
  worker.on('exit', () => void end())

  async function end(): Promise<void> {
    if (hasEnded) return
    hasEnded = true
    clearTimeout(idle)
    onExit(thread)
    goes('gone')
    await worker.terminate()
  }

  async function reply(request: ScanRequest): Promise<ScanReply | { lost: number }> {
    const { promise, resolve } = Promise.withResolvers<ScanReply>()
    const late = setTimeout(() => void end(), hardMs)
    worker.once('message', resolve)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(request)
    try {
      const answer = await Promise.race([promise, exit])
      return answer === 'gone' ? { lost: Atomics.load(sharedState, AT_FILE) } : answer
    } finally {
      clearTimeout(late)
      worker.off('message', resolve)
    }
  }

  const thread: Thread = {
    async ask(request, signal) {
      clearTimeout(idle)
      signal?.throwIfAborted()
      Atomics.store(sharedState, STOP, 0)
      const replying = reply(request)
      running = replying
      const { promise: abort, reject } = Promise.withResolvers<never>()
      const stop = (): void => {
        Atomics.store(sharedState, STOP, 1)
        reject(signal!.reason as Error)
      }
      signal?.addEventListener('abort', stop, { once: true })
      try {
        const answer = await Promise.race([replying, abort])
        if ('invalid' in answer) throw new InvalidPattern(answer.invalid)
        return answer
      } finally {
        signal?.removeEventListener('abort', stop)
      }
    },
    async waitUntilStopped(signal) {
      const patience = signal?.aborted === true ? setTimeout(() => void end(), LEAVE_MS) : undefined
      await running
      clearTimeout(patience)
      if (!hasEnded) idle = setTimeout(() => void end(), IDLE_MS).unref()
    },
    end,
  }
  return thread
}
