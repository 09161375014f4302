import { type ChildProcess, fork } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type Given, type Read, Unreadable, type UnreadableReason } from './document.ts'

/** Reads documents in processes of their own, so that a hostile one can neither stop this server nor eat its memory. */
export interface DocumentReader extends AsyncDisposable {
  /** Throws `Unreadable`. */
  read(given: Given, signal?: AbortSignal): Promise<Read>
}

export interface ReaderLimits {
  processes: number
  /** From the start of the work, not of the wait for it. */
  timeMs: number
  heapMb: number
  /** All of a process's memory, where the system tells it (Linux). */
  memoryMb: number
  waiting: number
  idleMs: number
}

const LIMITS: ReaderLimits = {
  processes: Math.max(1, Math.min(4, availableParallelism() - 1)),
  timeMs: 20_000,
  heapMb: 384,
  memoryMb: 768,
  waiting: 200,
  idleMs: 30_000,
}
/** What leaks in a parser goes with its process. */
const MOST_READS = 500
const LOOK_MS = 50
const program = join(import.meta.dirname, 'child.ts')

type Said = { read: Read } | { reason: UnreadableReason; message: string }
interface Task {
  given: Given
  resolve(read: Read): void
  reject(error: Error): void
}

export function createDocumentReader(limits: Partial<ReaderLimits> = {}): DocumentReader {
  const most = { ...LIMITS, ...limits }
  const waiting: Task[] = []
  const idle: Worker[] = []
  const alive = new Set<Worker>()
  let closed = false

  function next(): void {
    while (waiting.length > 0 && (idle.length > 0 || alive.size < most.processes)) {
      const worker = idle.pop() ?? start()
      void work(worker, waiting.shift()!)
    }
  }

  function start(): Worker {
    const worker = new Worker(most.heapMb)
    alive.add(worker)
    return worker
  }

  async function work(worker: Worker, task: Task): Promise<void> {
    clearTimeout(worker.idle)
    const said = await worker.ask(task.given, most)
    worker.reads++
    if (worker.gone || worker.reads >= MOST_READS || closed) drop(worker)
    else {
      idle.push(worker)
      worker.idle = setTimeout(() => drop(worker), most.idleMs).unref()
    }
    if ('read' in said) task.resolve(said.read)
    else task.reject(new Unreadable(said.reason, said.message))
    next()
  }

  function drop(worker: Worker): void {
    clearTimeout(worker.idle)
    alive.delete(worker)
    const at = idle.indexOf(worker)
    if (at >= 0) idle.splice(at, 1)
    worker.end()
  }

  return {
    read(given, signal) {
      signal?.throwIfAborted()
      if (closed || waiting.length >= most.waiting)
        return Promise.reject(new Unreadable('busy', 'Too many documents wait to be read.'))
      return new Promise<Read>((resolve, reject) => {
        const task: Task = { given, resolve, reject }
        // One that is being read is read to its end: it is bounded, and its process is of use to the next.
        const leave = (): void => {
          const at = waiting.indexOf(task)
          if (at >= 0) waiting.splice(at, 1)
          reject(signal!.reason as Error)
        }
        signal?.addEventListener('abort', leave, { once: true })
        task.resolve = (read) => (signal?.removeEventListener('abort', leave), resolve(read))
        task.reject = (error) => (signal?.removeEventListener('abort', leave), reject(error))
        waiting.push(task)
        next()
      })
    },
    async [Symbol.asyncDispose]() {
      closed = true
      for (const task of waiting.splice(0)) task.reject(new Unreadable('busy', 'The server is shutting down.'))
      const ends = [...alive].map((worker) => worker.ended)
      for (const worker of alive) drop(worker)
      await Promise.all(ends)
    },
  }
}

/** A process, and the one document that it may be reading. */
class Worker {
  readonly ended: Promise<void>
  readonly #child: ChildProcess
  #answer: ((said: Said) => void) | null = null
  idle: NodeJS.Timeout | undefined
  reads = 0
  gone = false

  constructor(heapMb: number) {
    this.#child = fork(program, [], {
      execArgv: [`--max-old-space-size=${heapMb}`, '--permission', '--allow-fs-read=*', '--no-warnings'],
      // Nothing of this server's environment: keys live there.
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#child.on('message', (said: Said) => this.#answer?.(said))
    this.#child.on('error', () => this.#child.kill('SIGKILL'))
    this.ended = new Promise((resolve) =>
      this.#child.on('close', () => {
        this.gone = true
        this.#answer?.({ reason: 'too_large', message: 'It takes more memory to read than one document may.' })
        resolve()
      }),
    )
  }

  ask(given: Given, { timeMs, memoryMb }: ReaderLimits): Promise<Said> {
    const { promise, resolve } = Promise.withResolvers<Said>()
    const stop = (said: Said): void => {
      resolve(said)
      this.gone = true
      this.#child.kill('SIGKILL')
    }
    const late = setTimeout(
      () => stop({ reason: 'too_slow', message: `It takes longer to read than ${timeMs / 1000} s.` }),
      timeMs,
    )
    const look = setInterval(() => {
      void memoryOf(this.#child.pid).then((mb) => {
        if (mb > memoryMb && this.#answer === resolve)
          stop({ reason: 'too_large', message: 'It takes more memory to read than one document may.' })
      })
    }, LOOK_MS)
    this.#answer = resolve
    this.#child.send(given, (error) => error && stop({ reason: 'damaged', message: 'It cannot be read now.' }))
    return promise.finally(() => {
      this.#answer = null
      clearTimeout(late)
      clearInterval(look)
    })
  }

  end(): void {
    this.gone = true
    this.#child.kill('SIGKILL')
  }
}

/** Resident megabytes of a process; 0 where the system does not tell. */
async function memoryOf(pid: number | undefined): Promise<number> {
  if (process.platform !== 'linux' || pid === undefined) return 0
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024
}
