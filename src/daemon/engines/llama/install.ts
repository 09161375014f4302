import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { refuse } from '#core/errors.ts'
import { installPackages, installedIn } from '../npm.ts'

/** 3.22.1 depends on macOS binaries that were never published. */
export const LLAMA_VERSION = '3.21.1'

const PLATFORMS: Record<string, string> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'darwin-arm64': 'mac-arm64-metal',
  'darwin-x64': 'mac-x64',
}

const FILE = 'node-llama-cpp/package.json'
const placeIn = (folder: string): string => join(folder, `llama-${LLAMA_VERSION}`)

export const installed = (folder: string): Promise<string | null> => installedIn(placeIn(folder), FILE)

export async function install(folder: string, signal: AbortSignal): Promise<string> {
  const existing = await installed(folder)
  if (existing !== null) return existing
  const platform = PLATFORMS[`${process.platform}-${process.arch}`]
  if (platform === undefined)
    refuse('not_supported', { message: `llama.cpp isn’t available for ${process.platform} on ${process.arch}.` })
  const gpu = process.platform === 'linux' && process.arch === 'x64' && (await nvidia()) !== null
  const packages = [
    `node-llama-cpp@${LLAMA_VERSION}`,
    `@node-llama-cpp/${platform}@${LLAMA_VERSION}`,
    ...(gpu ? [`@node-llama-cpp/linux-x64-cuda@${LLAMA_VERSION}`] : []),
  ]
  return installPackages({ label: 'llama.cpp', place: placeIn(folder), file: FILE }, packages, signal)
}

export async function nvidia(): Promise<string | null> {
  const args = ['--query-gpu=name,memory.total', '--format=csv,noheader']
  const { stdout } = await promisify(execFile)('nvidia-smi', args, { timeout: 5_000 }).catch(() => ({ stdout: '' }))
  return stdout.trim().split('\n')[0] || null
}
