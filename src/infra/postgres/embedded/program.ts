import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { StartRefused } from '../../start-refused.ts'
import type { Binaries } from './binaries.ts'
import type { OsUser } from './user.ts'

export interface Program {
  child: ChildProcess
  lines: string[]
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Starts `bin/{name}` as the account in `cwd`, in its own session (Ctrl-C in a terminal is handled by the server). */
export function startProgram(
  binaries: Binaries,
  name: 'initdb' | 'postgres',
  args: string[],
  options: { cwd: string; user: OsUser | null; onLine?: (line: string) => void },
): Program {
  const path = join(binaries.root, 'native/bin', name)
  const child = spawn(path, args, {
    cwd: options.cwd,
    detached: true,
    // A clean environment: PG* variables would affect it, and it needs no API keys. C keeps messages English.
    env: { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' },
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(options.user && { uid: options.user.uid, gid: options.user.gid }),
  })
  const lines: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (lines.push(line) > 30) lines.shift()
    options.onLine?.(line)
  })
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', (error) => reject(explainSpawn(error, path, options.user)))
    // `close` waits for every process that holds the pipe, including the backends of a killed postmaster.
    child.once('exit', (code, signal) => {
      const done = () => resolve({ code, signal })
      child.once('close', done)
      setTimeout(done, 100).unref()
    })
  })
  ended.catch(() => {})
  return { child, lines, ended }
}

function explainSpawn(error: Error, path: string, user: OsUser | null): Error {
  const code = 'code' in error ? error.code : null
  if (code === 'ENOENT')
    return new StartRefused(
      `${path} doesn’t run here (it requires Linux with glibc). Set DATABASE_URL to your own PostgreSQL`,
    )
  if (code === 'EPERM' && user)
    return new StartRefused(
      `this process isn’t allowed to switch to the user ${user.name}. Start it as a regular user, or set DATABASE_URL`,
    )
  if (code === 'EACCES')
    return new StartRefused(`${path} can’t be run by ${user?.name ?? 'this user'}: permission denied`)
  return error
}

export function explainEnd(
  name: string,
  program: Program,
  end: { code: number | null; signal: NodeJS.Signals | null },
  where: string,
): string {
  const text = program.lines.join('\n')
  if (/No space left on device|Disk quota exceeded/i.test(text)) return `there is no space left on the disk of ${where}`
  const complaint =
    program.lines.findLast((line) => /^(PANIC|FATAL|ERROR)|error:|cannot|could not/.test(line)) ??
    program.lines.findLast((line) => !line.startsWith('LOG:'))
  const how = end.signal ? `${name} was terminated by ${end.signal}` : `${name} exited with code ${end.code}`
  return complaint ? `${how}: ${complaint.replace(/^(PANIC|FATAL|ERROR):\s+/, '')}` : how
}
