import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** A lock that is held, or the process that holds it (null when that cannot be read). */
export type Lock = { held: true; release: () => void } | { held: false; by: number | null }

// A connection that is collected as garbage closes, and the lock with it.
const open = new Set<DatabaseSync>()

/**
 * Takes the lock at `path` (an empty file, mode 0600, made if missing; the pid beside it in `{path}.pid`) without waiting.
 *
 * The kernel holds it for this process and drops it when the process ends, however it ends, so neither `kill -9` nor a
 * recycled pid leaves anything behind; it also holds between containers that share the folder. Node offers no file
 * locks, but its SQLite takes one (fcntl) with `BEGIN EXCLUSIVE`.
 *
 * Nothing else in this process may open the file: POSIX drops a process's locks when it closes any handle on it.
 * Throws the file system's errors, and SQLite's where the file system has no locks.
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

/** SQLITE_BUSY, or one of its extended codes: https://sqlite.org/rescode.html#busy */
const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === 5

function readPid(path: string): number | null {
  try {
    return Number.parseInt(readFileSync(path, 'utf8'), 10) || null
  } catch {
    return null
  }
}
