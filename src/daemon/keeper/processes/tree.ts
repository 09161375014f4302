/**
 * The processes that a command started. A process group loses those that called `setsid`, a mark in the environment
 * those that cleared it, so all traces are followed: group, session, parent, mark, and the pipes that it was given.
 * Only what left all of them behind is overlooked. A cgroup would see that too, but to enter one costs a command 10 ms.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { MARK } from './launch.ts'
import { type Stat, environmentOf, isAlive, lastPid, livingProcesses, openedBy } from './proc.ts'

export interface Trace {
  /** The first process: its group and session have this number. 0: it could not be started. */
  pid: number
  started: string
  /** ms since the epoch, when it was started. */
  at: number
  mark: string
  /** Paths of pipes that nobody else has. */
  pipes: readonly string[]
}

const SOFT_MS = 2_000
const LOOK_MS = 50

/** SIGTERM to all of them, after 2 s SIGKILL, until none is left. */
export async function endTree(trace: Trace, soft: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  signalTree(trace, soft)
  for (let waited = 0; waited < SOFT_MS; waited += LOOK_MS) {
    if (treeOf([trace]).length === 0) return
    await sleep(LOOK_MS)
  }
  // What forks while it is being killed is found at the next look.
  for (let look = 0; look < 40; look++) {
    if (signalTree(trace, 'SIGKILL') === 0) break
    await sleep(LOOK_MS)
  }
}

/** Signals the processes, and answers how many got it. */
export function signalTree(trace: Trace, signal: NodeJS.Signals): number {
  const found = treeOf([trace])
  for (const { pid, started } of found) if (pid < 0 || isAlive(pid, started)) send(pid, signal)
  return found.length
}

/** The living processes of some commands. */
export function treeOf(traces: readonly Trace[]): Stat[] {
  if (process.platform !== 'linux') return traces.flatMap(groupOf)
  const all = livingProcesses(firstPid(traces))
  const wanted = {
    // A command that could not be started has no process. Where its first one's number is another's by now, nothing is left
    // of its group: as long as there is, nobody gets that number.
    firsts: new Map(
      traces
        .filter(({ pid, started }) => pid > 0 && !all.some((one) => one.pid === pid && one.started !== started))
        .map(({ pid, started }) => [pid, Number(started)]),
    ),
    marks: new Set(traces.map(({ mark }) => `${MARK}=${mark}`)),
    pipes: new Set(traces.flatMap(({ pipes }) => pipes)),
    earliest: Math.min(...traces.map(({ started }) => Number(started))),
  }
  const found = new Set<number>()
  for (const one of all) if (belongs(one, wanted)) found.add(one.pid)
  for (let before = -1; before !== found.size;) {
    before = found.size
    for (const one of all) if (found.has(one.parent)) found.add(one.pid)
  }
  found.delete(process.pid)
  return all.filter(({ pid }) => found.has(pid))
}

/** The age up to which numbers of processes have not gone round since a command was started. */
const YOUNG_MS = 60_000

/**
 * The first number to look at: the processes of a young command have higher numbers than it has itself; 0: all need a
 * look.
 */
function firstPid(traces: readonly Trace[]): number {
  const last = lastPid()
  const first = Math.min(...traces.map(({ pid }) => pid))
  // A time of day that was set back since says nothing.
  const ages = traces.map(({ at }) => Date.now() - at)
  const young = ages.every((age) => age >= 0 && age < YOUNG_MS)
  return young && last >= first ? first : 0
}

interface Wanted {
  /** The start times of the first processes: an older process only has the number of one. */
  firsts: ReadonlyMap<number, number>
  marks: ReadonlySet<string>
  pipes: ReadonlySet<string>
  earliest: number
}

function belongs({ pid, group, session, started }: Stat, { firsts, marks, pipes, earliest }: Wanted): boolean {
  if (pid === process.pid || Number(started) < earliest) return false
  for (const leader of [group, session]) if (Number(started) >= (firsts.get(leader) ?? Infinity)) return true
  if (pipes.size > 0 && [0, 1, 2].some((at) => pipes.has(openedBy(pid, at)))) return true
  return environmentOf(pid)
    .split('\0')
    .some((entry) => marks.has(entry))
}

/** Whether the first process or any of its group lives: what nearly every command leaves is seen by this alone. */
export function groupLives({ pid }: Trace): boolean {
  return pid > 0 && send(-pid, 0)
}

/** The process group: without `/proc` nothing else is known. */
function groupOf(trace: Trace): Stat[] {
  const { pid, started } = trace
  if (!groupLives(trace)) return []
  return [{ pid: -pid, state: 'R', parent: 1, group: pid, session: pid, terminal: 0, started, status: 0 }]
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch (error) {
    // A process of another user can't be signalled, but is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
