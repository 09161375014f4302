/**
 * A clone only installs its own platform's terminal addon. npm downloads others on demand; their hash must match the
 * lock file.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { isFolder } from './bundle.ts'

export const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64'] as const
export type Platform = (typeof PLATFORMS)[number]

const NAMES = ['pty.node', 'spawn-helper']
const TIMEOUT_MS = 60_000

/** Null: not installed, and `bring` is false. */
export async function addonFolder(
  platform: Platform,
  { root, place, bring }: { root: string; place: string; bring: boolean },
): Promise<string | null> {
  const name = `@lydell/node-pty-${platform}`
  const installed = installedAt(name)
  if (installed !== null) return installed
  const { version, integrity } = await locked(root, name)
  const target = join(place, `${platform}-${version}`)
  if (await isFolder(target)) return target
  if (!bring) return null
  await mkdir(place, { recursive: true, mode: 0o700 })
  const making = await mkdtemp(join(place, 'making-'))
  try {
    await pack(`${name}@${version}`, making)
    const [tarball = ''] = (await readdir(making)).filter((file) => file.endsWith('.tgz'))
    const bytes = await readFile(join(making, tarball))
    if (`sha512-${createHash('sha512').update(bytes).digest('base64')}` !== integrity)
      throw new Error(`npm brought another ${name} than the lock file names`)
    const files = join(making, 'files')
    await mkdir(files)
    for (const [file, content] of await filesIn(bytes)) {
      await writeFile(join(files, file), content)
      await chmod(join(files, file), 0o755)
    }
    await rename(files, target).catch(async (error: unknown) => {
      // Another server process finished first.
      if (!(await isFolder(target))) throw error
    })
    return target
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}

function installedAt(name: string): string | null {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/pty.node`))
  } catch {
    return null
  }
}

async function locked(root: string, name: string): Promise<{ version: string; integrity: string }> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity?: string }>
  }
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {}
  if (version === undefined || integrity === undefined) throw new Error(`the lock file does not name ${name}`)
  return { version, integrity }
}

async function pack(spec: string, folder: string): Promise<void> {
  const args = ['pack', spec, '--pack-destination', folder, '--ignore-scripts', '--loglevel=error']
  try {
    await promisify(execFile)('npm', args, { cwd: folder, timeout: TIMEOUT_MS })
  } catch (error) {
    const { code, stderr = '' } = error as NodeJS.ErrnoException & { stderr?: string }
    const why = code === 'ENOENT' ? 'npm is not on the PATH of the server' : stderr.trim().split('\n')[0]
    throw new Error(`${spec} could not be brought: ${why || 'npm failed'}`, { cause: error })
  }
}

async function filesIn(tarball: Buffer): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>()
  const { extract } = await import('tar-stream')
  const reader = extract()
  reader.end(gunzipSync(tarball))
  for await (const entry of reader) {
    const name = basename(entry.header.name)
    const parts: Buffer[] = []
    for await (const part of entry) parts.push(part as Buffer)
    if (entry.header.type === 'file' && NAMES.includes(name)) files.set(name, Buffer.concat(parts))
  }
  return files
}
