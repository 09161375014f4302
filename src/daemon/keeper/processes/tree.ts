/**
 * Finds a command's processes by group, session, parent, mark and pipes, since `setsid` leaves the group and a
 * cleared environment loses the mark. A cgroup would miss none, but entering one costs 10 ms per command.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { MARK } from './launch.ts'
import { type Stat, environmentOf, isAlive, lastPid, livingProcesses, openedBy } from './proc.ts'

export interface Trace {
  /** The first process, whose pid is also its group and session. 0 if it couldn't start. */
  pid: number
  started: string
  at: number
  mark: string
  /** Pipes no other command has. */
  pipes: readonly string[]
}

const SOFT_MS = 2_000
const LOOK_MS = 50

/** Sends SIGTERM, then SIGKILL after 2 s, until no process is left. */
export async function endTree(trace: Trace, soft: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  signalTree(trace, soft)
  for (let waited = 0; waited < SOFT_MS; waited += LOOK_MS) {
    if (treeOf([trace]).length === 0) return
    await sleep(LOOK_MS)
  }
  // Repeated, because a process may fork while being killed.
  for (let look = 0; look < 40; look++) {
    if (signalTree(trace, 'SIGKILL') === 0) break
    await sleep(LOOK_MS)
  }
}

export function signalTree(trace: Trace, signal: NodeJS.Signals): number {
  const processes = treeOf([trace])
  for (const { pid, started } of processes) if (pid < 0 || isAlive(pid, started)) send(pid, signal)
  return processes.length
}

export function treeOf(traces: readonly Trace[]): Stat[] {
  if (process.platform !== 'linux') return traces.flatMap(groupOf)
  const all = livingProcesses(firstPid(traces))
  const traits = {
    // If another process has the first pid now, the group is empty: pids of living groups aren't reused. A
    // command that couldn't start has pid 0.
    firsts: new Map(
      traces
        .filter(({ pid, started }) => pid > 0 && !all.some((one) => one.pid === pid && one.started !== started))
        .map(({ pid, started }) => [pid, Number(started)]),
    ),
    marks: new Set(traces.map(({ mark }) => `${MARK}=${mark}`)),
    pipes: new Set(traces.flatMap(({ pipes }) => pipes)),
    earliest: Math.min(...traces.map(({ started }) => Number(started))),
  }
  const pids = new Set<number>()
  for (const one of all) if (belongs(one, traits)) pids.add(one.pid)
  for (let before = -1; before !== pids.size;) {
    before = pids.size
    for (const one of all) if (pids.has(one.parent)) pids.add(one.pid)
  }
  pids.delete(process.pid)
  return all.filter(({ pid }) => pids.has(pid))
}

/** Pids don't wrap around within this time after a start. */
const YOUNG_MS = 60_000

/** The first pid to scan. Processes of a young command have higher pids than it; 0 scans all. */
function firstPid(traces: readonly Trace[]): number {
  const last = lastPid()
  const first = Math.min(...traces.map(({ pid }) => pid))
  // Invalid if the wall clock was set back.
  const ages = traces.map(({ at }) => Date.now() - at)
  const young = ages.every((age) => age >= 0 && age < YOUNG_MS)
  return young && last >= first ? first : 0
}

interface Traits {
  /** Start times of the first processes. An older process only reuses the pid. */
  firsts: ReadonlyMap<number, number>
  marks: ReadonlySet<string>
  pipes: ReadonlySet<string>
  earliest: number
}

function belongs({ pid, group, session, started }: Stat, { firsts, marks, pipes, earliest }: Traits): boolean {
  if (pid === process.pid || Number(started) < earliest) return false
  for (const leader of [group, session]) if (Number(started) >= (firsts.get(leader) ?? Infinity)) return true
  if (pipes.size > 0 && [0, 1, 2].some((at) => pipes.has(openedBy(pid, at)))) return true
  return environmentOf(pid)
    .split('\0')
    .some((entry) => marks.has(entry))
}

/** Whether the process group has a living member. Sufficient for nearly every command. */
export function groupLives({ pid }: Trace): boolean {
  return pid > 0 && send(-pid, 0)
}

/** The process group, all that is available without `/proc`. */
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
    // EPERM: the process exists but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
