/**
 * Brings llama.cpp to this computer: `node-llama-cpp` and its binaries for this platform, from the npm registry that the
 * machine is set to, without running install scripts and without a compiler.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Refusal, refuse } from '#kernel/errors.ts'
import { forEngine } from '../../environment.ts'

/** 3.22.1 names binaries for macOS that were never published. */
export const LLAMA_VERSION = '3.21.1'

const PLATFORMS: Record<string, string> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'darwin-arm64': 'mac-arm64-metal',
  'darwin-x64': 'mac-x64',
}

/** The folder that holds `node_modules`, or null where it is not installed. */
export async function installed(folder: string): Promise<string | null> {
  const place = join(folder, `llama-${LLAMA_VERSION}`)
  const file = join(place, 'node_modules/node-llama-cpp/package.json')
  const found = await readFile(file, 'utf8').catch(() => null)
  return found === null ? null : place
}

/** Several at once do it once each into a folder of their own, and the first one stays. */
export async function install(folder: string, signal: AbortSignal): Promise<string> {
  const there = await installed(folder)
  if (there !== null) return there
  const platform = PLATFORMS[`${process.platform}-${process.arch}`]
  if (platform === undefined)
    refuse('not_supported', { message: `llama.cpp has no binaries for ${process.platform} on ${process.arch} here.` })
  const gpu = process.platform === 'linux' && process.arch === 'x64' && (await nvidia()) !== null
  const packages = [
    `node-llama-cpp@${LLAMA_VERSION}`,
    `@node-llama-cpp/${platform}@${LLAMA_VERSION}`,
    ...(gpu ? [`@node-llama-cpp/linux-x64-cuda@${LLAMA_VERSION}`] : []),
  ]
  const place = join(folder, `llama-${LLAMA_VERSION}`)
  const partial = `${place}.${process.pid}.partial`
  try {
    await mkdir(partial, { recursive: true })
    await writeFile(join(partial, 'package.json'), '{"private":true}')
    await npm(
      partial,
      [
        'install',
        '--omit=optional',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '--no-save',
        '--loglevel=error',
        ...packages,
      ],
      signal,
    )
    await rename(partial, place).catch(async (error) => {
      if ((await installed(folder)) === null) throw error
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
  return place
}

/** The name of the graphics card and its memory, as NVIDIA's program says; null where it does not answer. */
export async function nvidia(): Promise<string | null> {
  const args = ['--query-gpu=name,memory.total', '--format=csv,noheader']
  const { stdout } = await promisify(execFile)('nvidia-smi', args, { timeout: 5_000 }).catch(() => ({ stdout: '' }))
  return stdout.trim().split('\n')[0] || null
}

function npm(cwd: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', args, {
      cwd,
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
      env: forEngine(process.env),
    })
    let said = ''
    child.stderr.on('data', (bytes: Buffer) => void (said = (said + bytes.toString()).slice(-2_000)))
    const stop = (): void => endGroup(child)
    signal.addEventListener('abort', stop, { once: true })
    child.once('error', (error) => {
      signal.removeEventListener('abort', stop)
      fail(reject, 'code' in error && error.code === 'ENOENT' ? 'npm is not on the PATH of the daemon' : error.message)
    })
    child.once('close', (code) => {
      signal.removeEventListener('abort', stop)
      if (signal.aborted) return reject(signal.reason as Error)
      if (code === 0) return resolve()
      fail(reject, said.trim().split('\n')[0] || `npm ended with code ${code}`)
    })
  })
}

function fail(reject: (error: Error) => void, reason: string): void {
  reject(
    new Refusal('upstream_error', { message: `llama.cpp could not be installed: ${reason}.`, details: { reason } }),
  )
}

function endGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
