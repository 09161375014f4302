/**
 * The app as files to serve. A clone brings only its sources: what is missing is built by Vite in a process of its own,
 * into a folder that is named after the content of the sources, so that it is never stale and any number of servers may
 * build at once. What is published brings `web/dist` and no sources.
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

/** The folder that holds `index.html`; the first caller of a process starts a build where one is needed. */
export function buildApp(dataDir: string): Promise<string> {
  built ??= findOrBuild(dataDir)
  // A build that failed is tried again by the caller who asks next.
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
      // Another server was faster, and has built the same.
      if (!existsSync(join(target, 'index.html'))) throw error
    }
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  forgetOthers(place, target)
  return target
}

/** Beside the dependencies, or in the data dir where those can't be written to. */
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
      // Not ours as a whole: it holds keys of providers.
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, NODE_ENV: 'production' },
    })
    // The callers of the server meanwhile come first, and a server that stops does not wait for the build.
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
 * Removes builds of other sources, the newest few excepted: another server of this clone may still serve them. It also
 * removes a build that a server left unfinished when it was stopped.
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
