import { type ChildProcess, spawn } from 'node:child_process'
import type { Launch } from './launch.ts'
import { blanks } from './descriptors.ts'
import { type Ending, endingOf, statOf } from './proc.ts'

/** A program started by this keeper or its predecessor. */
export interface Child {
  readonly pid: number
  /** Start time in ticks since boot. Identifies the process together with the pid. */
  readonly started: string
  readonly ended: Promise<Ending>
  /** Null while the program runs. */
  readonly ending: Ending | null
}

/**
 * Starts a program as a session leader. Throws the errors of `spawn`: `ENOENT` or `EACCES` if the program can't
 * run.
 */
export async function startChild({ argv, cwd, env }: Launch, stdio: [number, number, number]): Promise<Child> {
  const [file = '', ...args] = argv
  const child = spawn(file, args, { cwd, env, detached: true, stdio: [...stdio, ...blanks()] })
  const ending = endOf(child)
  if (child.pid === undefined) {
    ending.catch(() => {})
    await ending
  }
  return childOf(child.pid!, statOf(child.pid!)?.started ?? '', ending)
}

const endOf = (child: ChildProcess): Promise<Ending> =>
  new Promise((resolve, reject) => {
    child.once('exit', (exit_code, signal) => resolve({ exit_code, signal }))
    child.once('error', reject)
  })

/**
 * A child started by the previous program in this process. Node doesn't reap it, so its exit is polled and read
 * from the zombie.
 */
export function adoptChild(pid: number, started: string, ending: Ending | null): Child {
  const ended = new Promise<Ending>((resolve) => {
    if (ending) return resolve(ending)
    const look = (): void => {
      const stat = statOf(pid)
      if (stat === null || stat.started !== started) resolve({ exit_code: null, signal: null })
      else if (stat.state === 'Z' || stat.state === 'X') resolve(endingOf(stat.status))
      else setTimeout(look, LOOK_MS)
    }
    look()
  })
  return childOf(pid, started, ended)
}

export const noChild = (ending: Ending): Child => childOf(0, '', Promise.resolve(ending))

export function childOf(pid: number, started: string, ended: Promise<Ending>): Child {
  const child: { -readonly [K in keyof Child]: Child[K] } = { pid, started, ended, ending: null }
  ended.then(
    (ending) => (child.ending = ending),
    () => {},
  )
  return child
}

const LOOK_MS = 50
