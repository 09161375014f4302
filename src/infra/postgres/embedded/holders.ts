import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'

/**
 * PostgreSQL processes running in `dir`, found by their working directory, which recycled pids and other servers don't
 * share (/proc/{pid}/comm and /proc/{pid}/cwd, proc(5)). Empty if `dir` is missing. Inaccessible processes (root in a
 * container without CAP_SYS_PTRACE) are matched by command line. `among` limits the search.
 */
export function holders(dir: string, among: readonly (string | number)[] = readdirSync('/proc')): number[] {
  const home = statSync(dir, { throwIfNoEntry: false })
  if (!home) return []
  const holds = (pid: string | number): boolean => {
    try {
      if (!['postgres', 'initdb'].includes(readFileSync(`/proc/${pid}/comm`, 'utf8').trim())) return false
      const cwd = statSync(`/proc/${pid}/cwd`)
      return cwd.dev === home.dev && cwd.ino === home.ino
    } catch (error) {
      return isDenied(error) && startedFor(pid, dir)
    }
  }
  return among.filter((pid) => /^\d+$/.test(String(pid)) && holds(pid)).map(Number)
}

export const clusterName = (cluster: string): string =>
  `ukiyo-${createHash('sha256').update(cluster).digest('hex').slice(0, 12)}`

/** Kills processes in `dir`. Safe for backends without a postmaster: uncommitted work doesn't count. */
export function killHolders(dir: string): void {
  for (const pid of holders(dir)) signal(pid, 'SIGKILL')
}

export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    return isDenied(error)
  }
}

function startedFor(pid: string | number, dir: string): boolean {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return line.startsWith(`postgres: ${clusterName(dir)}: `) || line.includes(`\0-D\0${dir}\0`)
  } catch {
    return false
  }
}

const isDenied = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
