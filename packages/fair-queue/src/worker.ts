import { type ChildProcess, fork } from 'node:child_process'
import { readFile } from 'node:fs/promises'

export interface WorkerLimits {
  timeMs: number
  heapMb: number
  memoryMb: number
}

/** Why a process returned no answer. `unsent`: the request isn't to blame and may not have been received. */
export type WorkerFailure = 'too_slow' | 'too_large' | 'unsent'
export type Outcome<Answer> = { said: Answer } | { lost: WorkerFailure }

const LOOK_MS = 25
/** Signals sent to all processes when a service or terminal stops. The request isn't to blame. */
const STOPS: ReadonlySet<NodeJS.Signals> = new Set(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'])

/**
 * A sandboxed process that answers one request at a time. It gets none of the server's environment, which contains
 * keys, may not write files or start programs, and is killed if it exceeds its time or memory.
 */
export class Worker<Request, Answer> {
  readonly ended: Promise<void>
  readonly #child: ChildProcess
  readonly #limits: WorkerLimits
  #answer: ((outcome: Outcome<Answer>) => void) | null = null
  idle: NodeJS.Timeout | undefined
  answered = 0
  gone = false

  constructor(program: string, limits: WorkerLimits, rights: readonly string[] = []) {
    this.#limits = limits
    this.#child = fork(program, [], {
      execArgv: [
        `--max-old-space-size=${limits.heapMb}`,
        '--permission',
        '--allow-fs-read=*',
        ...rights,
        '--no-warnings',
      ],
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#child.on('message', (answer: Answer) => this.#answer?.({ said: answer }))
    this.#child.on('error', () => this.#child.kill('SIGKILL'))
    this.ended = new Promise((resolve) =>
      this.#child.on('close', (_, signal) => {
        const isStopped = this.gone || (signal !== null && STOPS.has(signal))
        this.gone = true
        this.#answer?.({ lost: isStopped ? 'unsent' : 'too_large' })
        resolve()
      }),
    )
  }

  ask(request: Request): Promise<Outcome<Answer>> {
    const { timeMs, memoryMb } = this.#limits
    const { promise, resolve } = Promise.withResolvers<Outcome<Answer>>()
    const stop = (failure: WorkerFailure): void => {
      resolve({ lost: failure })
      this.end()
    }
    const late = setTimeout(() => stop('too_slow'), timeMs)
    const look = setInterval(() => {
      void memoryOf(this.#child.pid).then((mb) => {
        if (mb > memoryMb && this.#answer === resolve) stop('too_large')
      })
    }, LOOK_MS)
    this.#answer = resolve
    this.#child.send(request as object, (error) => error && stop('unsent'))
    return promise.finally(() => {
      this.answered++
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

async function memoryOf(pid: number | undefined): Promise<number> {
  if (process.platform !== 'linux' || pid === undefined) return 0
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024
}
