import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ScanTask, Scanned } from './scan.ts'

/** Searches files in threads: started when they are needed, ended when they were idle for long. */
export interface Scanner extends AsyncDisposable {
  /** The number of tasks that run at the same time. */
  width: number
  /** Every file of the task has one answer. A task that takes too long is given up, with its thread. */
  scan(task: ScanTask): Promise<Scanned[]>
}

const program = join(import.meta.dirname, 'scan-thread.ts')
const TASK_MS = 30_000
const IDLE_MS = 60_000

export function createScanner({
  width = Math.max(1, Math.min(8, availableParallelism())),
  taskMs = TASK_MS,
} = {}): Scanner {
  const idle: Worker[] = []
  const alive = new Set<Worker>()
  const waiting: (() => void)[] = []
  const timers = new Map<Worker, NodeJS.Timeout>()

  async function take(): Promise<Worker> {
    while (idle.length === 0 && alive.size >= width) await new Promise<void>((resolve) => waiting.push(resolve))
    const worker = idle.pop()
    if (worker !== undefined) {
      clearTimeout(timers.get(worker))
      return worker
    }
    const fresh = new Worker(program, { env: {}, resourceLimits: { maxOldGenerationSizeMb: 512 } })
    fresh.unref()
    alive.add(fresh)
    return fresh
  }

  function give(worker: Worker): void {
    idle.push(worker)
    timers.set(worker, setTimeout(() => void drop(worker), IDLE_MS).unref())
    waiting.shift()?.()
  }

  async function drop(worker: Worker): Promise<void> {
    const at = idle.indexOf(worker)
    if (at >= 0) idle.splice(at, 1)
    clearTimeout(timers.get(worker))
    timers.delete(worker)
    alive.delete(worker)
    await worker.terminate()
    waiting.shift()?.()
  }

  return {
    width,
    async scan(task) {
      const worker = await take()
      const { promise, resolve, reject } = Promise.withResolvers<Scanned[] | null>()
      const late = setTimeout(() => resolve(null), taskMs)
      worker.once('message', resolve)
      worker.once('error', reject)
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      worker.postMessage(task)
      try {
        const answer = await promise
        if (answer !== null) {
          give(worker)
          return answer
        }
      } catch {
        // Out of memory, most likely: what it was asked is too much for it.
      } finally {
        clearTimeout(late)
        worker.off('message', resolve)
        worker.off('error', reject)
      }
      if (!idle.includes(worker)) await drop(worker)
      return task.files.map(({ index }) => ({ index, count: 0, lines: [], more: false, skipped: 'too_slow' }))
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...alive].map(drop))
    },
  }
}
