/**
 * Replaces the keeper's program within the same process (`execve`), so terminal masters stay open, shells survive,
 * and service managers notice nothing. A helper process holds the commands' named pipes open meanwhile. In-memory
 * state is passed in a file.
 */
import { execFile, spawn } from 'node:child_process'
import { closeSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import { refuse } from '#core/errors.ts'
import { forKeeper } from '../environment.ts'
import { Exec, type ExecEnd } from './execs/exec.ts'
import { Output } from './execs/output.ts'
import { Stdin } from './execs/stdin.ts'
import type { Sessions } from './keeper.ts'
import { adoptChild } from './processes/child.ts'
import { blanks, nullDescriptor } from './processes/descriptors.ts'
import { openAgain } from './processes/pipes.ts'
import type { Ending } from './processes/proc.ts'
import { adoptPty } from './processes/pty.ts'
import type { Sweep } from './processes/sweep.ts'
import type { Trace } from './processes/tree.ts'
import { Ring } from './ring.ts'
import { type Mark, TerminalLog } from './terminals/log.ts'
import { type End, type Facts, type Snapshot, Terminal } from './terminals/terminal.ts'
import { uptimeMs } from '../time/uptime.ts'

/** The file's schema version. A program reads this one and earlier ones. */
export const SCHEMA = 1

interface RingState {
  capacity: number
  start: number
  bytes: Buffer
}
interface ChildState {
  pid: number
  started: string
  ending: Ending | null
}
interface TerminalState {
  facts: Facts
  log: { marks: readonly Mark[] } & RingState
  snapshot: Snapshot
  live: { master: number; child: ChildState; ahead: Buffer } | null
  end: End | null
}
interface OutputState extends RingState {
  taken: number
  open: boolean
}
interface ExecState {
  key: string
  child: ChildState
  trace: Trace
  started_at: number
  /** The start by `uptimeMs`. Missing from earlier versions, which count from `started_at`. */
  began?: number
  alone_ms?: number | null
  deadline: number | null
  timed_out: boolean
  delivered: boolean
  end: ExecEnd | null
  stdin: { arrived: number; finished: boolean; rest: Buffer } | null
  stdout: OutputState
  stderr: OutputState
}
export interface State {
  keeper_id: string
  generation: number
  helper: number | null
  terminals: TerminalState[]
  execs: ExecState[]
}
export interface Carried {
  keeper_id: string
  generation: number
  terminals: Terminal[]
  execs(sweep: Sweep): Exec[]
}

const stateFile = (folder: string): string => join(folder, 'state')

/**
 * Doesn't return on success. First asks `command` whether it reads this schema and can hold terminals; if not,
 * nothing changes.
 */
export async function handOver(
  kept: Sessions,
  folder: string,
  command: readonly string[],
  { keeper_id, generation }: { keeper_id: string; generation: number },
): Promise<never> {
  if (process.platform !== 'linux')
    refuse('not_supported', { message: 'A keeper with running terminals or commands can be replaced only on Linux.' })
  const [file = '', ...args] = command
  await promisify(execFile)(file, [...args, folder, '--probe', String(SCHEMA)], {
    timeout: PROBE_MS,
    env: forKeeper(process.env),
  }).catch((error: Error) =>
    refuse('invalid_state', {
      message: `The new program can’t take over: ${error.message.split('\n').slice(0, 3).join(' ')}`,
    }),
  )
  // Waits until new programs hold their terminals: the next program couldn't release the slave ends.
  for (let look = 0; look < 250 && kept.terminals.all().some(({ live }) => live?.pty.isTaken === false); look++)
    await sleep(20)
  // From here on everything is synchronous, so the state can't change.
  const execs = kept.execs.all()
  const state: State = {
    keeper_id,
    generation: generation + 1,
    helper: null,
    terminals: kept.terminals.all().map(terminalState),
    execs: execs.map(execState),
  }
  state.helper = holdPipes(execs)
  writeFileSync(stateFile(folder), serialize({ schema: SCHEMA, state }), { mode: 0o600 })
  process.execve!(file, [file, ...args, folder, '--resume'], forKeeper(process.env))
  throw new Error('another program did not take over')
}

const PROBE_MS = 30_000

export function readState(folder: string, addon: string | undefined): Carried {
  const { schema, state } = deserialize(readFileSync(stateFile(folder))) as { schema: number; state: State }
  unlinkSync(stateFile(folder))
  if (schema > SCHEMA) throw new Error(`the state has schema ${schema}, and ${SCHEMA} is the newest that is known here`)
  const { keeper_id, generation, helper } = state
  const terminals = state.terminals.map((terminal) => resumeTerminal(terminal, addon))
  return {
    keeper_id,
    generation,
    terminals,
    execs: (sweep) => {
      const execs = state.execs.map((exec) => resumeExec(exec, sweep))
      if (helper !== null) process.kill(helper, 'SIGKILL')
      return execs
    },
  }
}

const ringState = (ring: Ring): RingState => ({
  capacity: ring.capacity,
  start: ring.start,
  bytes: ring.read(ring.start, ring.end - ring.start),
})

function ringOf({ capacity, start, bytes }: RingState): Ring {
  const ring = new Ring(capacity, start)
  ring.push(bytes)
  return ring
}

function terminalState(terminal: Terminal): TerminalState {
  const { log, live, ending, endedAt } = terminal
  if (live) {
    live.pty.stream.pause()
    // Flushes what was read but not yet emitted as `data`.
    live.pty.stream.read()
  }
  const end = endedAt === null ? null : { ...ending, status: statusOf(terminal), ended_at: endedAt }
  return {
    facts: { ...terminal.facts, typed: terminal.typed, keys: terminal.keys },
    log: { marks: log.marks, ...ringState(log.ring) },
    snapshot: terminal.snapshot(),
    live: live && { master: live.pty.master, child: childState(live.pty.child), ahead: live.writer.stop() },
    end,
  }
}

const statusOf = (terminal: Terminal): 'ended' | 'lost' => (terminal.row().status === 'lost' ? 'lost' : 'ended')
const childState = ({ pid, started, ending }: ChildState): ChildState => ({ pid, started, ending })

function resumeTerminal(
  { facts, log: { marks, ...ring }, snapshot, live, end }: TerminalState,
  addon?: string,
): Terminal {
  const log = new TerminalLog(marks, ring.start)
  log.push(ring.bytes)
  const screen = { at: snapshot.at, bytes: Buffer.from(snapshot.bytes) }
  if (live === null) return Terminal.restore(facts, log, screen, end!)
  const { pid, started, ending } = live.child
  return Terminal.resume(facts, log, screen, adoptPty(live.master, adoptChild(pid, started, ending), addon), live.ahead)
}

function execState(exec: Exec): ExecState {
  exec.stop()
  const { end } = exec
  const { key, child, trace, started_at, began, deadline, alone_ms, timed_out, stdin, stdout, stderr } = exec.parts
  const output = (of: Output): OutputState => ({ ...ringState(of.ring), taken: of.taken, open: of.isOpen })
  return {
    key,
    trace,
    started_at,
    began,
    alone_ms,
    deadline: deadline === null ? null : Date.now() + deadline - uptimeMs(),
    timed_out,
    end,
    child: childState(child),
    delivered: exec.delivered,
    stdin: stdin && { arrived: stdin.arrived, finished: stdin.finished, rest: stdin.stop() },
    stdout: output(stdout),
    stderr: output(stderr),
  }
}

function resumeExec(state: ExecState, sweep: Sweep): Exec {
  const { key, trace, started_at, deadline, timed_out, end } = state
  const now = uptimeMs()
  const { pid, started, ending } = state.child
  const [out = '', err = '', input] = trace.pipes
  const exec = new Exec(
    {
      key,
      trace,
      started_at,
      began: state.began ?? now - (Date.now() - started_at),
      deadline: deadline === null ? null : now + deadline - Date.now(),
      alone_ms: state.alone_ms ?? null,
      timed_out,
      child: adoptChild(pid, started, ending),
      stdin: input === undefined || state.stdin === null ? null : resumeStdin(input, state.stdin),
      stdout: resumeOutput(out, state.stdout),
      stderr: resumeOutput(err, state.stderr),
    },
    sweep,
    end,
  )
  exec.delivered = state.delivered
  return exec
}

function resumeStdin(path: string, { arrived, finished, rest }: NonNullable<ExecState['stdin']>): Stdin | null {
  try {
    const stdin = new Stdin(openAgain(path, 'write'), arrived)
    stdin.resume(Buffer.from(rest), finished)
    return stdin
  } catch {
    return null
  }
}

/**
 * Reopens an output. In Linux (`pipe_poll`), a pipe whose writers left before it was opened reports EOF to reads
 * but never to polls, until it has had another writer.
 */
function resumeOutput(path: string, { taken, open, ...state }: OutputState): Output {
  const ring = ringOf(state)
  if (!open) return new Output(null, ring, taken)
  const descriptor = openAgain(path, 'read')
  closeSync(openAgain(path, 'write'))
  return new Output(descriptor, ring, taken)
}

function holdPipes(execs: readonly Exec[]): number | null {
  const nothing = nullDescriptor()
  const descriptors = execs
    .filter(({ parts }) => parts.stdout.isOpen || parts.stderr.isOpen)
    .flatMap(({ parts: { trace } }) =>
      trace.pipes.flatMap((path, at) => {
        try {
          return [openAgain(path, at === 2 ? 'write' : 'read')]
        } catch {
          // The command closed its stdin.
          return []
        }
      }),
    )
  if (descriptors.length === 0) return null
  const hidden = blanks().length
  const stdio = [nothing, nothing, nothing, ...Array<number>(hidden).fill(nothing), ...descriptors]
  const helper = spawn('/bin/sh', ['-c', `exec sleep ${HOLD_SECONDS}`], { detached: true, stdio })
  return helper.pid ?? null
}

const HOLD_SECONDS = 60
