import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FLAGS, PROGRAM } from './own.ts'
import { type Version, folderOf } from './versions.ts'

const CHECK_MS = 30_000
const UNREACHABLE = 7
const LINKED_MS = 30_000
const STANDS_MS = 10_000
const ENDS_MS = 10_000

const programOf = (version: Version): string[] => [...FLAGS, join(folderOf(version), PROGRAM), 'computer']

function environment(): NodeJS.ProcessEnv {
  const { UK_PAIR_TOKEN: _, ...rest } = process.env
  return rest
}

/**
 * Checks whether a version can run here, with this Node, state, keeper and server. Returns the problem or null.
 * Throws if only the server was unreachable.
 */
export async function checkVersion(version: Version, signal: AbortSignal): Promise<string | null> {
  const args = [...programOf(version), 'check']
  try {
    await promisify(execFile)(process.execPath, args, { timeout: CHECK_MS, env: environment(), signal })
    return null
  } catch (error) {
    signal.throwIfAborted()
    const { stderr = '', message, code } = error as Error & { stderr?: string; code?: number | string }
    const why = stderr.trim().split('\n').slice(0, 3).join(' ') || message
    if (code === UNREACHABLE) throw new Error(why, { cause: error })
    return why
  }
}

/**
 * Runs a version in place of this one until it has linked and stayed up, then stops it. Returns the problem or
 * null.
 */
export async function tryOut(version: Version, words: readonly string[], signal: AbortSignal): Promise<string | null> {
  const args = [...programOf(version), 'run', '--trial', ...words]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env: environment() })
  const exit = new Promise<string>((resolve) => {
    child.once('exit', (code, by) => resolve(`it exited with ${by ?? `code ${code}`}`))
    child.once('error', (error) => resolve(error.message))
  })
  let timer: NodeJS.Timeout | undefined
  const after = (ms: number, what: string | null): Promise<string | null> =>
    new Promise((resolve) => (timer = setTimeout(resolve, ms, what)))
  const linked = new Promise<'linked'>((resolve) => child.once('message', () => resolve('linked')))
  const abort = new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null), { once: true }))
  try {
    const start = await Promise.race([linked, exit, abort, after(LINKED_MS, "it didn't connect within 30 s")])
    clearTimeout(timer)
    if (start !== 'linked') return start
    return await Promise.race([exit.then((how) => `${how} soon after it was linked`), abort, after(STANDS_MS, null)])
  } finally {
    clearTimeout(timer)
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), ENDS_MS)
    await exit
    clearTimeout(late)
  }
}
