/**
 * Builds the app. Clones contain only sources, so Vite builds them in a separate process, into a folder named by the
 * hash of the sources: it is never stale, and several servers can build at once. The published package contains
 * `web/dist` and no sources.
 */
import { spawn } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { root, stampOfSources } from './sources.ts'

let built: Promise<string> | undefined

/** Returns the folder with `index.html`; the first call starts a build if needed. */
export function buildApp(dataDir: string): Promise<string> {
  built ??= findOrBuild(dataDir)
  // The next call retries a failed build.
  built.catch(() => (built = undefined))
  return built
}

async function findOrBuild(dataDir: string): Promise<string> {
  if (!existsSync(join(root, 'web/src'))) return join(root, 'web/dist')
  const place = placeFor(dataDir)
  const target = join(place, stampOfSources())
  if (existsSync(join(target, 'index.html'))) return target
  const unfinished = mkdtempSync(join(place, 'building-'))
  try {
    await runVite(unfinished)
    try {
      renameSync(unfinished, target)
    } catch (error) {
      // Another server finished the same build first.
      if (!existsSync(join(target, 'index.html'))) throw error
    }
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  forgetOthers(place, target)
  return target
}

/** Next to the dependencies, or in the data directory if those are read-only. */
function placeFor(dataDir: string): string {
  const beside = join(root, 'node_modules/.cache/app')
  try {
    mkdirSync(beside, { recursive: true })
    accessSync(beside, constants.W_OK)
    return beside
  } catch {
    const own = join(dataDir, 'app')
    mkdirSync(own, { recursive: true, mode: 0o700 })
    return own
  }
}

function runVite(outDir: string): Promise<void> {
  const vite = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js')
  const args = [vite, 'build', join(root, 'web'), '--outDir', outDir, '--emptyOutDir', '--logLevel', 'error']
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Only selected variables: the environment contains provider keys.
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, NODE_ENV: 'production' },
    })
    // Low priority, so that requests come first; and the server can stop during a build.
    if (child.pid !== undefined) setPriority(child.pid, 10)
    child.unref()
    for (const pipe of [child.stdout, child.stderr]) (pipe as Socket).unref()
    let said = ''
    const hear = (part: Buffer) => void (said = (said + part.toString()).slice(-4_000))
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    const stop = () => child.kill()
    process.once('exit', stop)
    child.once('error', reject)
    child.once('close', (code) => {
      process.off('exit', stop)
      if (code === 0) resolve()
      else reject(new Error(`the app could not be built: ${said.trim() || `vite ended with ${code}`}`))
    })
  })
}

/**
 * Deletes old builds except the newest few, which other servers of this clone may still serve, and builds left
 * unfinished.
 */
function forgetOthers(place: string, target: string): void {
  const KEPT = 4
  const ABANDONED_MS = 600_000
  for (const name of readdirSync(place))
    if (name.startsWith('building-') && madeAt(join(place, name)) < Date.now() - ABANDONED_MS)
      rmSync(join(place, name), { recursive: true, force: true })
  const others = readdirSync(place)
    .filter((name) => /^[0-9a-f]{20}$/.test(name) && join(place, name) !== target)
    .toSorted((a, b) => madeAt(join(place, b)) - madeAt(join(place, a)))
  for (const name of others.slice(KEPT)) rmSync(join(place, name), { recursive: true, force: true })
}

const madeAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
