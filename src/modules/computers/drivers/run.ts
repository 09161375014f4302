import { type SpawnOptions, spawn } from 'node:child_process'

export interface ProcessResult {
  /** Null: killed by a signal, or not started. */
  code: number | null
  stdout: string
  /** The full length of `stdout`. */
  bytes: number
  stderr: string
}

const MAX = 65_536

/**
 * Without the server's environment. At the timeout, children are killed too, because they could keep the output open.
 */
export function run(
  argv: readonly string[],
  { timeoutMs = 20_000 }: { timeoutMs?: number } = {},
): Promise<ProcessResult> {
  return new Promise((resolve) => {
    const [file = '', ...args] = argv
    const options: SpawnOptions = {
      env: HOST_ENV,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group, so that children can be killed too.
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
        // The group ended or belongs to another user.
      }
      child.stdout?.destroy()
      child.stderr?.destroy()
      resolve({ code: status, bytes, ...out })
    }, timeoutMs)
    for (const name of ['stdout', 'stderr'] as const)
      child[name]!.setEncoding('latin1').on('data', (part: string) => {
        if (name === 'stdout') bytes += part.length
        out[name] = (out[name] + part).slice(-MAX)
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

export const HOST_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
