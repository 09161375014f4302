import { execFile, execFileSync } from 'node:child_process'
import { constants, closeSync, mkdirSync, openSync, readdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'

const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK } = constants

/**
 * Named pipes for commands. Unlike Node's sockets, programs can reopen them through `/dev/stderr`, and a replaced
 * keeper by name. Made by the dozen in advance, because Node has no call for mkfifo.
 */
export class Pipes {
  readonly #folder: string
  #spare: string[] = []
  #number = 0
  #making = false

  /** `used`: pipes of running commands. */
  constructor(folder: string, used: ReadonlySet<string> = new Set()) {
    this.#folder = folder
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(folder)) {
      if (!used.has(join(folder, name))) unlinkSync(join(folder, name))
      this.#number = Math.max(this.#number, Number(name) || 0)
    }
  }

  take(): string {
    if (this.#spare.length === 0) {
      const paths = this.#next()
      execFileSync('mkfifo', ['-m', '600', '--', ...paths], { stdio: ['ignore', 'ignore', 'pipe'] })
      this.#spare = paths
    }
    if (this.#spare.length < DOZEN / 2) this.prepare()
    return this.#spare.shift()!
  }

  prepare(): void {
    if (this.#making) return
    this.#making = true
    const paths = this.#next()
    execFile('mkfifo', ['-m', '600', '--', ...paths], (error) => {
      this.#making = false
      if (!error) this.#spare.push(...paths)
    })
  }

  #next(): string[] {
    return Array.from({ length: DOZEN }, () => join(this.#folder, String(++this.#number)))
  }
}

const DOZEN = 24

/** Opens both ends of a pipe the keeper reads. Only the keeper's end is non-blocking. */
export function openForReading(path: string): { ours: number; theirs: number } {
  const ours = openSync(path, O_RDONLY | O_NONBLOCK)
  return { ours, theirs: openSync(path, O_WRONLY) }
}

export function openForWriting(path: string): { ours: number; theirs: number } {
  // Opening one end blocks until the other is open; this descriptor is both.
  const both = openSync(path, O_RDWR | O_NONBLOCK)
  const theirs = openSync(path, O_RDONLY)
  const ours = openSync(path, O_WRONLY | O_NONBLOCK)
  closeSync(both)
  return { ours, theirs }
}

export const openAgain = (path: string, way: 'read' | 'write'): number =>
  openSync(path, (way === 'read' ? O_RDONLY : O_WRONLY) | O_NONBLOCK)

export function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch {}
}
