/**
 * A file that is one process's until it ends, whatever ends it. It names its holder by pid, start and boot, so that a pid
 * given to another program later is not taken for it.
 */
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, unlinkSync, writeSync } from 'node:fs'
import { bootId } from './machine.ts'

/** One step that takes hold at once, as others see it. A step answers what `Files` answers. */
export type Step =
  | { do: 'read'; path: string }
  | { do: 'link'; from: string; to: string }
  | { do: 'move'; from: string; to: string }
  | { do: 'remove'; path: string }

/** What the steps of taking a lock are done with. */
export interface Files {
  /** Null: there is none. */
  read(path: string): string | null
  /** False: something is there already. */
  link(from: string, to: string): boolean
  move(from: string, to: string): void
  remove(path: string): void
}

/**
 * Takes `file`, whose words are in the file `fresh`; false while another one that lives has it. Nobody ever takes away the
 * lock of a dead one, which might be a living one's by then: whoever follows a holder is named in a file of that holder's
 * own, that is made once. So there is one line of holders, its last one has the lock, and he then tidies up: first he puts
 * his name into `file`, then what is behind it goes. Who read `file` before that, and found room in what was tidied away,
 * sees that `file` names somebody else by now.
 */
export function* taking(
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
      // Tidied away, by whoever holds it now; or it leads back, which only a broken file system makes.
      if (next === null || followers.includes(followerOf(file, next))) continue again
      holder = next
    }
  }
}

const followerOf = (file: string, holder: string): string => `${file}.after-${holder.replaceAll(/[^0-9a-z-]+/gi, '_')}`

/** Takes `file` for this process; null while another one that lives has it. `again`: this process may have it already. */
export function takeLock(file: string, { again = false } = {}): Disposable | null {
  const mine = nameOf(process.pid)
  const fresh = `${file}.${process.pid}`
  writeSynced(fresh, mine)
  try {
    const steps = taking(file, fresh, lives)
    let next = steps.next()
    while (!next.done) next = steps.next(done(next.value))
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

/** The pid of who holds it, to be told to people. */
export const holderOf = (file: string): string => onDisk.read(file)?.split(' ')[0] ?? '?'

/** Its pid, when it started, in clock ticks since boot, and the boot; the last two as far as the system says them. */
const nameOf = (pid: number): string => [pid, stateOf(pid)?.started, bootId()].filter(Boolean).join(' ')

/** One that was written before the boot was named has none. */
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
    const found = stateOf(Number(pid))
    // Whoever should have seen a zombie's end may never look.
    return found !== null && found.started === started && found.state !== 'Z' && found.state !== 'X'
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
    // Behind the name, which may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', started: fields[19] ?? '' }
  } catch {
    return null
  }
}

/** A lock that a loss of power left empty would name nobody. */
function writeSynced(path: string, words: string): void {
  const descriptor = openSync(path, 'w', 0o600)
  try {
    writeSync(descriptor, words)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function done(step: Step): unknown {
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
