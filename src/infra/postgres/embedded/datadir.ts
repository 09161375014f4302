import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { explainStart, StartRefused } from '../../start-refused.ts'
import { takeLock } from './lock.ts'

/** The data dir, locked for this process until disposed of or until the process ends. */
export interface DataDir extends Disposable {
  /** Absolute. */
  dir: string
}

/**
 * Makes the data dir if it is missing (0700; its parents as the umask says) and takes the lock on it (`lock` in it).
 * Throws `StartRefused` naming the dir and the pid when another process holds it, and when it cannot be written.
 */
export function lockDataDir(dataDir: string): DataDir {
  const dir = resolve(dataDir)
  try {
    makeDataDir(dir)
    return { dir, [Symbol.dispose]: takeOnlyLock(join(dir, 'lock'), `the data directory ${dir}`) }
  } catch (error) {
    throw explainStart(error, `the data directory ${dir} can’t be used`)
  }
}

/** An existing dir keeps its mode: its owner may have shared it on purpose. */
export function makeDataDir(dir: string): void {
  mkdirSync(dirname(dir), { recursive: true })
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

/** Takes the lock at `path`; the answer releases it. Throws `StartRefused` naming `what` and the pid that has it. */
export function takeOnlyLock(path: string, what: string): () => void {
  let lock
  try {
    lock = takeLock(path)
  } catch (error) {
    if (error instanceof Error && 'errcode' in error)
      throw new StartRefused(
        `${what} can’t be locked (${path}: ${error.message}). Check that it’s writable and on a local disk`,
      )
    throw error
  }
  if (lock.held) return lock.release
  const holder = lock.by === null ? 'another process' : `process ${lock.by}`
  throw new StartRefused(`${what} is in use by ${holder}. Only one server can use it at a time`)
}
