import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export type Lock = { held: true; release: () => void } | { held: false; by: number | null }

// A garbage-collected connection closes and releases the lock.
const open = new Set<DatabaseSync>()

/**
 * Takes the lock at `path` without waiting (an empty file, mode 0600; the pid in `{path}.pid`).
 * The kernel holds it and releases it however the process ends, so neither `kill -9` nor a recycled pid leaves a stale
 * lock; it also works between containers that share the folder. Node has no file locks, but its SQLite takes one
 * (fcntl) with `BEGIN EXCLUSIVE`.
 * Nothing else in this process may open the file: POSIX releases a process's locks when any handle is closed. Throws
 * file system errors, and SQLite's if the file system has no locks.
 */
export function takeLock(path: string): Lock {
  if (!existsSync(path)) writeFileSync(path, '', { flag: 'a', mode: 0o600 })
  const pidFile = `${path}.pid`
  const file = new DatabaseSync(path)
  try {
    file.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE')
  } catch (error) {
    file.close()
    if (!isBusy(error)) throw error
    return { held: false, by: readPid(pidFile) }
  }
  open.add(file)
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 })
  return {
    held: true,
    release() {
      if (!open.delete(file)) return
      rmSync(pidFile, { force: true })
      file.close()
    },
  }
}

/** SQLITE_BUSY or an extended code: https://sqlite.org/rescode.html#busy */
const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === 5

function readPid(path: string): number | null {
  try {
    return Number.parseInt(readFileSync(path, 'utf8'), 10) || null
  } catch {
    return null
  }
}
