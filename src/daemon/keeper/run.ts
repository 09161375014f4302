import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { overSocket } from '#daemon-protocol/link.ts'
import { forKeeper } from '../environment.ts'
import { Execs } from './execs/execs.ts'
import { handOver, readState, SCHEMA, type Carried } from './hand-over.ts'
import { answer, type Sessions } from './keeper.ts'
import { addressOf, makeFolder, noteAddress, socketPath, takePlace } from './place.ts'
import { loadAddon } from './processes/addon.ts'
import { signalTree } from './processes/tree.ts'
import { Terminals } from './terminals/terminals.ts'

/** The version of the protocol between keeper and daemon. 2 added `exec.write`. `keeper.replace` never changes. */
export const KEEPER_PROTOCOL = 2

export interface KeeperHello {
  protocol: number
  keeper_id: string
  generation: number
  pid: number
}

export interface DaemonWords {
  protocol: number
  /** The new environment of commands and terminals. Absent: unchanged. */
  environment?: Record<string, string>
}

const IDLE_MS = 60_000

/**
 * Runs a keeper: `FOLDER [--addon FILE] [--idle-ms MS]`. `--idle-ms 0` never exits, for a service. `--probe SCHEMA`
 * reports with the exit code whether it can take over state of that schema. `--resume` takes over.
 */
export async function runKeeper(args: readonly string[]): Promise<void> {
  const option = (name: string): string | undefined => {
    const at = args.indexOf(name)
    return at < 0 ? undefined : args[at + 1]
  }
  const addon = option('--addon')
  const schema = option('--probe')
  if (schema !== undefined) return probe(Number(schema), addon)
  const folder = args.find((arg) => arg.startsWith('/') && arg !== addon)
  if (folder === undefined) throw new Error('the keeper needs the absolute path of its folder')
  makeFolder(folder)
  if (!takePlace(folder)) return
  // Other calls depend on this process, so a fault fails only its own call.
  process.on('uncaughtException', (error) => console.error(new Date().toISOString(), error))
  process.on('SIGHUP', () => {})
  const carried = args.includes('--resume') ? resume(folder, addon) : null
  const sessions: Sessions = {
    execs: new Execs(folder, carried?.execs),
    terminals: new Terminals(join(folder, 'terminals'), addon, carried?.terminals),
  }
  const identity = { keeper_id: carried?.keeper_id ?? randomUUID(), generation: carried?.generation ?? 0 }
  process.on('SIGTERM', () => void stop(sessions))
  const replace = (command: readonly string[]): Promise<never> => handOver(sessions, folder, command, identity)
  const server = await listen(folder, (socket) => serve(socket, sessions, identity, replace))
  endWhenIdle(sessions, server, Number(option('--idle-ms') ?? IDLE_MS))
}

function probe(schema: number, addon: string | undefined): void {
  loadAddon(addon)
  if (schema > SCHEMA) {
    console.error(`the state has schema ${schema}, and ${SCHEMA} is the newest that is known here`)
    process.exitCode = 1
  }
}

/** Resumes the state of another keeper. If it can't be read, it is lost as after a crash. */
function resume(folder: string, addon: string | undefined): Carried | null {
  try {
    return readState(folder, addon)
  } catch (error) {
    console.error(new Date().toISOString(), 'the keeper before left a state that cannot be read', error)
    return null
  }
}

async function listen(folder: string, take: (socket: Socket) => void): Promise<Server> {
  const path = socketPath(folder)
  // No keeper listens on the old or new path, since this process has the lock.
  for (const old of new Set([addressOf(folder), path])) rmSync(old, { force: true })
  const server = createServer(take)
  const before = process.umask(0o177)
  server.listen(path)
  await new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject))
  process.umask(before)
  noteAddress(folder, path)
  return server
}

function serve(
  socket: Socket,
  kept: Sessions,
  identity: { keeper_id: string; generation: number },
  replace: (command: readonly string[]) => Promise<never>,
): void {
  const mux = overSocket(socket, {
    opens: 'even',
    onHello: ({ environment }) => void (environment && surround(environment as Record<string, string>)),
    answer: ({ op, input }, stream, { signal }) =>
      op === 'keeper.replace'
        ? replace((input as { command: string[] }).command)
        : answer(kept, op, input, stream, signal),
    onFault: (error, request) => console.error(new Date().toISOString(), request?.op ?? 'the link', error),
  })
  const hello: KeeperHello = { protocol: KEEPER_PROTOCOL, ...identity, pid: process.pid }
  mux.hello(hello)
}

/** Adopts the connecting daemon's environment, which may have changed since the keeper started. */
function surround(environment: Record<string, string>): void {
  for (const name of Object.keys(forKeeper(process.env))) delete process.env[name]
  Object.assign(process.env, forKeeper(environment))
}

function endWhenIdle({ execs, terminals }: Sessions, server: Server, idleMs: number): void {
  if (idleMs === 0) return
  let since = performance.now()
  setInterval(
    () =>
      server.getConnections((_, connections) => {
        if (connections > 0 || execs.busy || terminals.busy) since = performance.now()
        else if (performance.now() - since >= idleMs) process.exit(0)
      }),
    Math.min(5_000, idleMs / 4),
  )
}

/** Hangs up all terminals and commands, as a shutdown does. */
async function stop({ execs, terminals }: Sessions): Promise<void> {
  for (const { parts, end } of execs.all()) if (end === null) signalTree(parts.trace, 'SIGTERM')
  const open = terminals.list().terminals.filter(({ status }) => status === 'open')
  await Promise.race([
    Promise.all(open.map(({ terminal_id }) => terminals.close({ terminal_id, signal: null }))),
    new Promise((resolve) => setTimeout(resolve, 4_000)),
  ])
  await terminals.shelveAll()
  process.exit(0)
}
