/** Installs an engine's packages from the machine's configured npm registry, without install scripts or a compiler. */
import { type ChildProcess, spawn } from 'node:child_process'
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '#core/errors.ts'
import { forEngine } from '../environment.ts'

export const installedIn = (place: string, file: string): Promise<string | null> =>
  access(join(place, 'node_modules', file)).then(
    () => place,
    () => null,
  )

/**
 * Installs `packages` (`name@version`) as `place`. Concurrent installations use separate folders, and the first to
 * finish wins.
 */
export async function installPackages(
  { label, place, file }: { label: string; place: string; file: string },
  packages: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const partial = `${place}.${process.pid}.partial`
  try {
    await mkdir(partial, { recursive: true })
    await writeFile(join(partial, 'package.json'), '{"private":true}')
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error']
    await npm(label, partial, ['install', '--omit=optional', ...quiet, ...packages], signal)
    await rename(partial, place).catch(async (error) => {
      if ((await installedIn(place, file)) === null) throw error
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
  return place
}

function npm(label: string, cwd: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void =>
      reject(
        new Refusal('upstream_error', { message: `${label} couldn’t be installed: ${reason}.`, details: { reason } }),
      )
    const child = spawn('npm', args, {
      cwd,
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
      env: forEngine(process.env),
    })
    let output = ''
    child.stderr.on('data', (bytes: Buffer) => void (output = (output + bytes.toString()).slice(-2_000)))
    const stop = (): void => endGroup(child)
    signal.addEventListener('abort', stop, { once: true })
    child.once('error', (error) => {
      signal.removeEventListener('abort', stop)
      fail('code' in error && error.code === 'ENOENT' ? 'npm isn’t in the daemon’s PATH' : error.message)
    })
    child.once('close', (code) => {
      signal.removeEventListener('abort', stop)
      if (signal.aborted) return reject(signal.reason as Error)
      if (code === 0) return resolve()
      fail(output.trim().split('\n')[0] || `npm exited with code ${code}`)
    })
  })
}

function endGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL')
  } catch {}
}
