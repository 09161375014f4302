/**
 * A lock file held by one process until it exits. It names the holder by pid, start time and boot, so a recycled
 * pid isn't mistaken for the holder.
 */
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, unlinkSync, writeSync } from 'node:fs'
import { bootId } from './machine.ts'

/** One atomic file system step. Its result is that of the matching `Files` method. */
export type Step =
  | { do: 'read'; path: string }
  | { do: 'link'; from: string; to: string }
  | { do: 'move'; from: string; to: string }
  | { do: 'remove'; path: string }

export interface Files {
  read(path: string): string | null
  link(from: string, to: string): boolean
  move(from: string, to: string): void
  remove(path: string): void
}

/**
 * Takes the lock `file` using the prepared file `fresh`. Fails while a live process holds it. A stale lock is never
 * deleted directly, since a live process may have replaced it. Instead the next holder is named in a successor file
 * of the dead one, which can only be created once. The last entry of this chain holds the lock, moves its name into
 * `file` and removes the chain. A process that read `file` earlier re-reads it and sees the new holder.
 */
export function* lockSteps(
  file: string,
  fresh: string,
  lives: (holder: string) => boolean,
): Generator<Step, { taken: true } | { taken: false; holder: string }> {
  again: for (;;) {
    const first: string | null = yield { do: 'read', path: file }
    if (first === null) {
      if (yield { do: 'link', from: fresh, to: file }) return { taken: true }
      continue
    }
    const followers: string[] = []
    for (let holder = first; ;) {
      if (lives(holder)) return { taken: false, holder }
      const follower = followerOf(file, holder)
      followers.push(follower)
      if (yield { do: 'link', from: fresh, to: follower }) {
        if ((yield { do: 'read', path: file }) !== first) {
          yield { do: 'remove', path: follower }
          continue again
        }
        yield { do: 'move', from: fresh, to: file }
        for (const path of followers) yield { do: 'remove', path }
        return { taken: true }
      }
      const next: string | null = yield { do: 'read', path: follower }
      // Removed by the current holder, or a loop, which only a broken file system creates.
      if (next === null || followers.includes(followerOf(file, next))) continue again
      holder = next
    }
  }
}

const followerOf = (file: string, holder: string): string => `${file}.after-${holder.replaceAll(/[^0-9a-z-]+/gi, '_')}`

/** Takes `file` for this process. Null while another live process holds it. `again` allows taking it twice. */
export function takeLock(file: string, { again = false } = {}): Disposable | null {
  const mine = nameOf(process.pid)
  const fresh = `${file}.${process.pid}`
  writeSynced(fresh, mine)
  try {
    const steps = lockSteps(file, fresh, lives)
    let next = steps.next()
    while (!next.done) next = steps.next(perform(next.value))
    if (!next.value.taken && !(again && isSame(next.value.holder, mine))) return null
  } finally {
    onDisk.remove(fresh)
  }
  return {
    [Symbol.dispose]() {
      const holder = onDisk.read(file)
      if (holder !== null && isSame(holder, mine)) onDisk.remove(file)
    },
  }
}

export function isHeld(file: string): boolean {
  const holder = onDisk.read(file)
  return holder !== null && lives(holder)
}

export const holderOf = (file: string): string => onDisk.read(file)?.split(' ')[0] ?? '?'

/** Pid, start time in clock ticks since boot, and boot ID; the last two only where the system reports them. */
const nameOf = (pid: number): string => [pid, stateOf(pid)?.started, bootId()].filter(Boolean).join(' ')

/** Locks written by earlier versions have no boot ID. */
function isSame(one: string, other: string): boolean {
  const [pid, started, boot] = one.split(' ')
  const [otherPid, otherStarted, otherBoot] = other.split(' ')
  return pid === otherPid && started === otherStarted && (boot === otherBoot || !boot || !otherBoot)
}

function lives(holder: string): boolean {
  const [pid, started, boot] = holder.split(' ')
  if (!pid || !/^\d+$/.test(pid)) return false
  if (boot && boot !== bootId()) return false
  if (started) {
    const stat = stateOf(Number(pid))
    // A zombie's parent may never reap it, so a zombie counts as dead.
    return stat !== null && stat.started === started && stat.state !== 'Z' && stat.state !== 'X'
  }
  try {
    return process.kill(Number(pid), 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function stateOf(pid: number): { state: string; started: string } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The fields start after the process name, which may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', started: fields[19] ?? '' }
  } catch {
    return null
  }
}

/** Synced, because a lock left empty by a power loss would name no holder. */
function writeSynced(path: string, words: string): void {
  const descriptor = openSync(path, 'w', 0o600)
  try {
    writeSync(descriptor, words)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function perform(step: Step): unknown {
  if (step.do === 'read') return onDisk.read(step.path)
  if (step.do === 'link') return onDisk.link(step.from, step.to)
  if (step.do === 'move') return onDisk.move(step.from, step.to)
  return onDisk.remove(step.path)
}

const onDisk: Files = {
  read: (path) => unless('ENOENT', () => readFileSync(path, 'utf8')) ?? null,
  link: (from, to) => unless('EEXIST', () => (linkSync(from, to), true)) ?? false,
  move: (from, to) => renameSync(from, to),
  remove: (path) => unless('ENOENT', () => unlinkSync(path)),
}

function unless<T>(code: string, work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return undefined
    throw error
  }
}
