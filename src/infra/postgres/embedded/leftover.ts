import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartRefused } from '../../start-refused.ts'
import { holders, killHolders, signal } from './holders.ts'
import { removeSocketDir } from './socket.ts'

/**
 * Cleans up after a killed server: stops its surviving postgres (which has old settings and no log reader), ends
 * orphaned backends, and neutralizes a stale pid file. Costs nothing after a clean stop, which leaves no pid file. The
 * caller must hold the cluster's lock. Throws `StartRefused` if something can't be ended.
 */
export async function clearLeftover(cluster: string, log: (line: string) => void): Promise<void> {
  // Lines: pid, data directory, start time, port, socket directory, … (PostgreSQL's miscadmin.h, LOCK_FILE_LINE_*).
  const note = readNote(cluster)
  if (!note) return
  const [first = '', , , , socketDir = ''] = note.split('\n')
  const postmaster = Number.parseInt(first, 10)
  if (holders(cluster).includes(postmaster)) {
    log(`stopping the PostgreSQL (process ${postmaster}) left behind by an earlier server`)
    signal(postmaster, 'SIGINT')
    if (!(await waitUntilGone(cluster, 20_000))) signal(postmaster, 'SIGQUIT')
    await waitUntilGone(cluster, 2_000)
  }
  killHolders(cluster)
  if (!(await waitUntilGone(cluster, 2_000)))
    throw new StartRefused(
      `the database in ${cluster} is in use by process ${holders(cluster).join(', ')}, which doesn’t stop`,
    )
  removeSocketDir(socketDir)
  if (signal(postmaster, 0)) disown(cluster)
}

async function waitUntilGone(cluster: string, bound: number): Promise<boolean> {
  const end = performance.now() + bound
  for (let pids = holders(cluster); ; pids = holders(cluster, pids)) {
    // Processes started meanwhile may remain, so the whole list is read again.
    if (pids.length === 0 && (pids = holders(cluster)).length === 0) return true
    if (performance.now() > end) return false
    await sleep(5)
  }
}

/**
 * The recorded pid was reused, and PostgreSQL would take that process for a postmaster. Deleting the file would also
 * delete the shared memory key PostgreSQL checks for survivors, so only the pid is changed: to ours, its parent, which
 * it knows isn't a postmaster (CreateLockFile in miscinit.c).
 */
function disown(cluster: string): void {
  const file = openNote(cluster, constants.O_RDWR)
  if (file === null) return
  const rest = readFileSync(file, 'utf8').split('\n').slice(1)
  ftruncateSync(file, 0)
  writeSync(file, [process.pid, ...rest].join('\n'), 0)
  closeSync(file)
}

function readNote(cluster: string): string | null {
  const file = openNote(cluster, constants.O_RDONLY)
  if (file === null) return null
  const text = readFileSync(file, 'utf8')
  closeSync(file)
  return text
}

/** Never follows links: the cluster belongs to PostgreSQL's account, and this process may be root. */
function openNote(cluster: string, flags: number): number | null {
  try {
    return openSync(join(cluster, 'postmaster.pid'), flags | constants.O_NOFOLLOW)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
