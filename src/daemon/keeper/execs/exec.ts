import { chownSync, closeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHANNEL } from '#daemon-protocol/channels.ts'
import type { Output as OutputOf } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { type Child, noChild, startChild } from '../processes/child.ts'
import { nullDescriptor } from '../processes/descriptors.ts'
import type { Launch } from '../processes/launch.ts'
import { openForReading, openForWriting, type Pipes, remove } from '../processes/pipes.ts'
import type { Ending } from '../processes/proc.ts'
import type { Sweep } from '../processes/sweep.ts'
import { endTree, groupLives, signalTree, type Trace } from '../processes/tree.ts'
import { uptimeMs } from '../../time/uptime.ts'
import { Output } from './output.ts'
import { Stdin } from './stdin.ts'

export type ExecEnd = OutputOf<'exec'>

/** The state another keeper needs to take over a command. */
export interface ExecParts {
  key: string
  child: Child
  trace: Trace
  /** Wall-clock ms since the epoch, for display. */
  started_at: number
  /** The start by `uptimeMs`, like the deadline. */
  began: number
  deadline: number | null
  /** How long the command may run without a reader. Null: forever. */
  alone_ms: number | null
  timed_out: boolean
  stdin: Stdin | null
  stdout: Output
  stderr: Output
}

/** How long outputs may stay open after the command has ended and no process of it seems alive. */
const AT_ONCE_MS = 25
/** How long outputs may stay open after all processes were killed; then another program holds them. */
const AFTERWARDS_MS = 1_000

export class Exec {
  readonly parts: ExecParts
  readonly ended: Promise<ExecEnd>
  end: ExecEnd | null
  /** Whether a caller received all output and the end. */
  delivered = false
  #timer: NodeJS.Timeout | null = null
  #stream: Stream | null = null
  #alone: NodeJS.Timeout | null = null

  /** `end`: the command already ended under another keeper. */
  constructor(parts: ExecParts, sweep: Sweep, end: ExecEnd | null = null) {
    this.parts = parts
    this.end = end
    this.ended = end ? Promise.resolve(end) : this.#run(sweep)
  }

  /** Sends a caller everything it doesn't have yet, until the end. Disconnects the previous caller. */
  async attach(stream: Stream, from: { stdout: number; stderr: number }, signal: AbortSignal): Promise<ExecEnd> {
    const { child, stdin, stdout, stderr } = this.parts
    this.#stream?.lose('the command is followed by a newer request')
    this.#stream = stream
    if (this.#alone) clearTimeout(this.#alone)
    if (signal.aborted) this.#leftAlone()
    stream.event({ type: 'started', pid: child.pid, stdin: stdin?.arrived ?? 0 })
    // A lost link or caller ends this call, not the command.
    if (stdin && !stdin.finished) stdin.take(stream).catch(() => {})
    signal.addEventListener('abort', () => {
      if (this.#stream === stream) this.#leftAlone()
    })
    await Promise.all([
      stdout.send(stream, CHANNEL.stdout, from.stdout),
      stderr.send(stream, CHANNEL.stderr, from.stderr),
    ])
    return this.ended
  }

  /** Like `attach`, for an additional reader that exerts no backpressure. */
  async join(stream: Stream, from: { stdout: number; stderr: number }): Promise<ExecEnd> {
    const { child, stdout, stderr } = this.parts
    stream.event({ type: 'started', pid: child.pid })
    await Promise.all([
      stdout.send(stream, CHANNEL.stdout, from.stdout, false),
      stderr.send(stream, CHANNEL.stderr, from.stderr, false),
    ])
    return this.ended
  }

  #leftAlone(): void {
    this.#stream = null
    if (this.#alone) clearTimeout(this.#alone)
    const { alone_ms } = this.parts
    if (alone_ms !== null && this.end === null) this.#alone = setTimeout(() => this.kill(null), alone_ms)
  }

  /** Sends the signal, or without one SIGTERM and SIGKILL after 2 s. */
  kill(signal: NodeJS.Signals | null): void {
    if (signal === null) void endTree(this.parts.trace)
    else signalTree(this.parts.trace, signal)
  }

  stop(): void {
    for (const timer of [this.#timer, this.#alone]) if (timer) clearTimeout(timer)
    this.parts.stdout.stop()
    this.parts.stderr.stop()
  }

  async #run(sweep: Sweep): Promise<ExecEnd> {
    const { parts } = this
    const { child, trace, stdout, stderr, deadline } = parts
    if (deadline !== null) this.#timer = setTimeout(() => this.#timeOut(), Math.max(0, deadline - uptimeMs()))
    this.#leftAlone()
    const ending = await child.ended
    const endedAt = uptimeMs()
    for (const timer of [this.#timer, this.#alone]) if (timer) clearTimeout(timer)
    await this.#drain(sweep)
    parts.stdin?.close()
    for (const path of trace.pipes) remove(path)
    return (this.end = {
      ...outcome(ending, parts.timed_out),
      timed_out: parts.timed_out,
      started_at: new Date(parts.started_at).toISOString(),
      duration_ms: endedAt - parts.began,
      stdout_bytes: stdout.ring.end,
      stderr_bytes: stderr.ring.end,
    })
  }

  #timeOut(): void {
    this.parts.timed_out = true
    void endTree(this.parts.trace)
  }

  async #drain(sweep: Sweep): Promise<void> {
    const { trace, stdout, stderr } = this.parts
    stdout.unlimited()
    stderr.unlimited()
    const closed = Promise.all([stdout.ended, stderr.ended]).then(() => true)
    const alone = !groupLives(trace)
    if (alone && (await Promise.race([closed, sleep(AT_ONCE_MS, false)]))) return sweep.add(trace)
    await endTree(trace)
    if (await Promise.race([closed, sleep(AFTERWARDS_MS, false)])) return
    stdout.close()
    stderr.close()
  }
}

/** A timed-out command has no exit code, however the program handled the signal. */
const outcome = ({ exit_code, signal }: Ending, timedOut: boolean): Ending =>
  timedOut ? { exit_code: null, signal: signal ?? 'SIGTERM' } : { exit_code, signal }

/** Starts a command. A program that can't run ends as in a shell: 127 or 126, with the reason on stderr. */
export async function startExec(
  { key, mark, launch, timeout_ms, stdin, alone_ms }: ExecStart,
  pipes: Pipes,
  started: (trace: Trace) => void,
  sweep: Sweep,
): Promise<Exec> {
  const paths = [pipes.take(), pipes.take(), ...(stdin ? [pipes.take()] : [])]
  if (launch.owner) for (const path of paths) chownSync(path, launch.owner.uid, launch.owner.gid)
  const [out, err] = [openForReading(paths[0]!), openForReading(paths[1]!)]
  const input = stdin ? openForWriting(paths[2]!) : null
  const theirs = [input?.theirs ?? nullDescriptor(), out.theirs, err.theirs] as [number, number, number]
  const started_at = Date.now()
  const began = uptimeMs()
  const stderr = new Output(err.ours)
  let child: Child
  try {
    child = await startChild(launch, theirs)
  } catch (error) {
    const [exit_code, why] = notRun(error)
    stderr.ring.push(Buffer.from(`${launch.argv[0] ?? ''}: ${why}\n`))
    child = noChild({ exit_code, signal: null })
  } finally {
    for (const descriptor of [out.theirs, err.theirs, ...(input ? [input.theirs] : [])]) closeSync(descriptor)
  }
  const trace: Trace = { pid: child.pid, started: child.started, at: started_at, mark, pipes: paths }
  started(trace)
  const parts: ExecParts = {
    key,
    child,
    trace,
    started_at,
    began,
    deadline: timeout_ms === null ? null : began + timeout_ms,
    alone_ms,
    timed_out: false,
    stdin: input ? new Stdin(input.ours) : null,
    stdout: new Output(out.ours),
    stderr,
  }
  return new Exec(parts, sweep)
}

export interface ExecStart {
  key: string
  mark: string
  launch: Launch
  timeout_ms: number | null
  stdin: boolean
  alone_ms: number | null
}

function notRun(error: unknown): [exitCode: number, why: string] {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return [127, 'command not found']
  if (code === 'EACCES') return [126, 'permission denied']
  return [126, message]
}
