import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { explainStart, StartRefused } from '../../start-refused.ts'
import { takeLock } from './lock.ts'

export interface DataDir extends Disposable {
  dir: string
}

/**
 * Creates the data directory if missing (0700; parents by umask) and locks it (`lock` inside). Throws `StartRefused`
 * with directory and pid if another process holds it, or if it isn't writable.
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

/** An existing directory keeps its mode: its owner may have shared it. */
export function makeDataDir(dir: string): void {
  mkdirSync(dirname(dir), { recursive: true })
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

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
