import { type SpawnOptions, spawn } from 'node:child_process'

export interface Ran {
  /** The exit code; null: a signal ended the program, or it could not be started. */
  code: number | null
  stdout: string
  /** The number of bytes that `stdout` had. */
  bytes: number
  stderr: string
}

const MOST = 65_536

/**
 * Runs a program of the host to its end. It gets nothing of the server's environment. After `timeoutMs` it is killed with
 * what it started, and what it wrote until then is the result: a child that outlives it can hold its output open.
 */
export function run(argv: readonly string[], { timeoutMs = 20_000 }: { timeoutMs?: number } = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const [file = '', ...args] = argv
    const options: SpawnOptions = {
      env: HOST_ENV,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, so that all of it can be killed.
      detached: true,
    }
    const child = spawn(file, args, options)
    let bytes = 0
    let status: number | null = null
    const out = { stdout: '', stderr: '' }
    const timer = setTimeout(() => {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // The group has ended, or became another user's.
      }
      child.stdout?.destroy()
      child.stderr?.destroy()
      resolve({ code: status, bytes, ...out })
    }, timeoutMs)
    for (const name of ['stdout', 'stderr'] as const)
      child[name]!.setEncoding('latin1').on('data', (part: string) => {
        if (name === 'stdout') bytes += part.length
        out[name] = (out[name] + part).slice(-MOST)
      })
    child.once('exit', (code) => (status = code))
    child.once('error', (error) => {
      clearTimeout(timer)
      resolve({ code: null, stdout: '', bytes: 0, stderr: error.message })
    })
    child.once('close', (code) => {
      clearTimeout(timer)
      resolve({ code, bytes, ...out })
    })
  })
}

/** The environment of programs that a driver runs on the host. */
export const HOST_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
