import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { refuse } from '#core/errors.ts'
import type { Input } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { bootId } from '../../machine.ts'
import { type Gives, launch } from '../processes/launch.ts'
import { Pipes } from '../processes/pipes.ts'
import { Sweep } from '../processes/sweep.ts'
import { endTree } from '../processes/tree.ts'
import { uptimeMs } from '../../time/uptime.ts'
import { Exec, type ExecEnd, startExec } from './exec.ts'
import { Records } from './records.ts'

/** How long delivered output is kept, since the response may have been lost. */
const DELIVERED_MS = 60_000
const UNDELIVERED_MS = 24 * 3_600_000
/** How long a write waits for a command that doesn't read, before it reports how much was taken. */
const TAKES_MS = 10_000
/** The total output kept for ended commands; the oldest is dropped first. */
const KEPT_BYTES = 64 * 1_048_576

export class Execs {
  readonly records: Records
  readonly pipes: Pipes
  readonly sweep = new Sweep()
  readonly #gives: Gives | undefined
  readonly #byKey = new Map<string, Promise<Exec>>()
  readonly #started = new Set<Exec>()
  readonly #finished = new Set<{ key: string; exec: Exec; at: number }>()
  #living = 0

  /** `carried`: commands taken over from another keeper. */
  constructor(folder: string, carried: (sweep: Sweep) => readonly Exec[] = () => [], gives?: Gives) {
    this.#gives = gives
    const execs = carried(this.sweep)
    this.records = new Records(join(folder, 'commands.jsonl'))
    this.pipes = new Pipes(join(folder, 'pipes'), new Set(execs.flatMap(({ parts }) => parts.trace.pipes)))
    for (const exec of execs) {
      this.#byKey.set(exec.parts.key, Promise.resolve(exec))
      this.#follow(exec)
    }
    // The rest ran when a keeper was killed. They can't be read, so they are killed, and count as lost only once
    // dead, so that the next keeper continues if this one dies.
    for (const [key, { mark, trace, boot }] of this.records.running()) {
      if (this.#byKey.has(key)) continue
      // After a reboot the pids belong to other processes.
      const gone = boot === bootId() ? endTree(trace ?? { pid: 0, started: '', at: 0, mark, pipes: [] }) : null
      this.#living++
      void Promise.resolve(gone).finally(() => {
        this.#living--
        this.records.ended(key, 'lost')
      })
    }
  }

  get busy(): boolean {
    this.#forget()
    return this.#living > 0 || [...this.#finished].some(({ exec }) => !exec.delivered)
  }

  async exec(input: Input<'exec'>, stream: Stream, signal: AbortSignal): Promise<ExecEnd> {
    const exec = await (this.#byKey.get(input.key) ?? this.#begin(input))
    if (!(exec instanceof Exec)) return exec
    if (input.joins) return exec.join(stream, input.from)
    const end = await exec.attach(stream, input.from, signal)
    exec.delivered = true
    return end
  }

  /** Writes to a command's open stdin. A retry writes no byte twice. */
  async write(
    { key, offset, finish }: Input<'exec.write'>,
    stream: Stream,
  ): Promise<{ arrived: number; running: boolean }> {
    const exec = await this.#byKey.get(key)
    if (!exec) return refuse('not_found', { message: 'No command with this ID is known here.' })
    const { stdin } = exec.parts
    if (stdin === null) return refuse('invalid_state', { message: 'This command was started without an open stdin.' })
    if (offset > stdin.arrived)
      refuse('stale_update', {
        message: 'The bytes before this offset haven’t arrived.',
        details: { offset: stdin.arrived },
      })
    const all = exec.end === null && (await stdin.takePart(stream, TAKES_MS))
    if (all && finish) stdin.finish()
    return { arrived: stdin.arrived, running: exec.end === null }
  }

  async kill({ key, signal }: Input<'exec.kill'>): Promise<{ found: boolean }> {
    const exec = await this.#byKey.get(key)
    if (!exec || this.records.get(key)?.status !== 'running') return { found: false }
    exec.kill(signal as NodeJS.Signals | null)
    return { found: true }
  }

  all(): Exec[] {
    return [...this.#started]
  }

  #begin(input: Input<'exec'>): Promise<Exec> | ExecEnd {
    const { key } = input
    const record = this.records.get(key)
    if (record?.status === 'ended') return record.end
    if (record !== undefined)
      refuse('interrupted', {
        message:
          'The process that kept this command was killed. The command’s result is unknown, and it isn’t run again.',
        details: { lost: true },
      })
    if (input.joins) refuse('not_found', { message: 'No command with this key was started.' })
    const starting = this.#start(input)
    this.#byKey.set(key, starting)
    starting.catch(() => this.#byKey.delete(key))
    return starting
  }

  async #start({ key, argv, cwd, env, user, timeout_ms, stdin, alone_ms }: Input<'exec'>): Promise<Exec> {
    const mark = randomUUID()
    const program = await launch({ argv, cwd, env, user }, mark, this.#gives)
    const start = { key, mark, launch: program, timeout_ms, stdin, alone_ms: alone_ms ?? null }
    this.records.starts(key, mark)
    const exec = await startExec(start, this.pipes, (trace) => this.records.started(key, trace), this.sweep)
    this.#follow(exec)
    return exec
  }

  #follow(exec: Exec): void {
    const { key } = exec.parts
    this.#living++
    this.#started.add(exec)
    void exec.ended.then((end) => {
      this.#living--
      if (this.records.get(key)?.status === 'running') this.records.ended(key, end)
      this.#finished.add({ key, exec, at: uptimeMs() })
      this.#forget()
    })
  }

  #forget(): void {
    const now = uptimeMs()
    let bytes = [...this.#finished].reduce((sum, { exec }) => sum + sizeOf(exec), 0)
    for (const one of this.#finished) {
      const old = now - one.at > (one.exec.delivered ? DELIVERED_MS : UNDELIVERED_MS)
      if (!old && bytes <= KEPT_BYTES) continue
      bytes -= sizeOf(one.exec)
      this.#finished.delete(one)
      this.#byKey.delete(one.key)
      this.#started.delete(one.exec)
    }
  }
}

const sizeOf = ({ parts: { stdout, stderr } }: Exec): number =>
  stdout.ring.end - stdout.ring.start + (stderr.ring.end - stderr.ring.start)
