import { join } from 'node:path'
import { refuse } from '#core/errors.ts'
import { installPackages, installedIn } from '../npm.ts'

export const SHERPA_VERSION = '1.13.8'

const PLATFORMS: ReadonlySet<string> = new Set(['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64'])
const FILE = 'sherpa-onnx-node/package.json'
const placeIn = (folder: string): string => join(folder, `sherpa-${SHERPA_VERSION}`)

export const installed = (folder: string): Promise<string | null> => installedIn(placeIn(folder), FILE)

export async function install(folder: string, signal: AbortSignal): Promise<string> {
  const existing = await installed(folder)
  if (existing !== null) return existing
  const platform = `${process.platform}-${process.arch}`
  if (!PLATFORMS.has(platform))
    refuse('not_supported', { message: `sherpa-onnx isn’t available for ${process.platform} on ${process.arch}.` })
  const packages = [`sherpa-onnx-node@${SHERPA_VERSION}`, `sherpa-onnx-${platform}@${SHERPA_VERSION}`]
  return installPackages({ label: 'sherpa-onnx', place: placeIn(folder), file: FILE }, packages, signal)
}
