import { join, resolve } from 'node:path'
import { refuse } from '#core/errors.ts'
import type { Beat } from '#packages/mux/heartbeat.ts'
import { type DaemonHello, PROTOCOL } from '#daemon-protocol/hello.ts'
import type { Capability, Input, OperationName } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { type EnginesOptions, createEngines } from './engines/engines.ts'
import { type KeptEngines, keptSettings } from './engines/settings.ts'
import { createFiles } from './files/files.ts'
import { Calls } from './calls.ts'
import { KEEPER_OPERATIONS } from './keeper/keeper.ts'
import { COMES_BACK, keepLinked } from './link.ts'
import { holderOf, takeLock } from './lock.ts'
import { bootId, machine, probe } from './machine.ts'
import { dial, listPorts } from './ports.ts'
import { claimPlace } from './program/place.ts'
import { type Updates, followUpdates, mayUpdate } from './program/updates.ts'
import type { Version } from './program/versions.ts'
import { type Handlers, serve } from './serve.ts'
import { DaemonFault, type DaemonState, makeFolder, readState, writeState, credentialsOf } from './state.ts'
import { createUser, deleteUser, listUsers, updateUser } from './users.ts'

/** Overrides of the machine's engine settings for local models. */
export type EngineSettings = Partial<Omit<EnginesOptions, 'folder'>>

export interface RunParts {
  /** Holds the daemon's state. */
  folder: string
  version: string
  /** The permissions from now on. Null: unchanged. */
  allows: readonly Capability[] | null
  roots: readonly string[] | null
  /** The engine settings from now on. Null: unchanged. */
  enginesKept?: KeptEngines | null
  url: string | null
  /** Whether the server may update this program from now on. Null: unchanged. */
  updates?: boolean | null
  /** The running version, if a server installed it. Absent: this program isn't updated. */
  own?: Version | null
  keeper: Keeper
  engines?: EngineSettings
  say(line: string): void
  /** Called when the first connection is established. */
  ready?(): void
  beat?: Beat
  /** The socket of a server on this machine, read before each attempt. */
  socketPath?: () => string
  longestWaitMs?: number
  signal: AbortSignal
}

/**
 * Connects this machine to its server and handles its calls until the signal. Returns the version of this program that
 * should replace it, or null to stop.
 */
export async function runDaemon(parts: RunParts): Promise<Version | null> {
  const { folder, version, keeper, say } = parts
  await makeFolder(folder)
  const lockFile = join(folder, 'daemon.lock')
  using lock = takeLock(lockFile)
  if (lock === null)
    throw new DaemonFault('failure', `Another daemon is already running in ${folder} (process ${holderOf(lockFile)}).`)
  const known = await readState(folder)
  if (known === null) throw new DaemonFault('usage', "This machine isn't paired.", 'Pair it with `uk computer pair`.')
  let state = known
  const changes = changesIn(parts, state)
  const url = parts.url ?? state.server_url
  if (parts.own) await claimPlace(parts.own.place, folder, url)
  if (Object.keys(changes).length > 0 || parts.url) await keep({ ...state, ...changes, server_url: url })
  async function keep(next: typeof state): Promise<void> {
    await writeState(folder, next)
    state = next
  }

  await using engines = createEngines({
    ollama: OLLAMA,
    ...parts.engines,
    ...keptSettings(state.engines),
    folder: join(folder, 'local'),
  })
  let keeperId: string | null = null
  // Callers with file access must not read the machine's credential or change its permissions.
  const shut = [folder, ...(parts.own ? [parts.own.place] : [])].map((one) => resolve(one))
  await using files = createFiles({ allowed: state.roots, shut, folder: join(folder, 'uploads') })
  const handlers: Handlers = {
    ...kept(keeper),
    ...files.handlers,
    ...engines.handlers,
    ...MACHINE_HANDLERS,
    'daemon.rotate': rotate,
  }

  async function rotate({ credential }: Input<'daemon.rotate'>): Promise<Record<string, never>> {
    if (!/^ukm_[0-9A-Za-z]{43}$/.test(credential)) refuse('invalid_parameter', { param: 'credential' })
    // A repeated request keeps the previous credential.
    if (credential !== state.credential)
      await keep({ ...state, credential, previous: { credential: state.credential } })
    return {}
  }

  const hello = (): DaemonHello => ({
    protocol: PROTOCOL,
    daemon_version: version,
    ...machine(),
    boot_id: bootId(),
    keeper_id: keeperId,
    allows: [...state.allows],
    ...(updates?.hello() ?? { release: null, failed_update: null }),
  })
  // Running commands and terminals continue. The first message tells the server which keeper has them.
  if (state.allows.some((one) => one === 'exec' || one === 'terminal'))
    await keeper.hello().then(
      (said) => (keeperId = said.keeper_id),
      (error: unknown) => say(`the keeper process isn't responding: ${(error as Error).message}`),
    )

  const leaving = new AbortController()
  const signal = AbortSignal.any([parts.signal, leaving.signal])
  await using updates: Updates | null = parts.own && mayUpdate(state) ? await followUpdates(parts.own, url, say) : null
  const calls = new Calls(serve(handlers, state.allows))
  let next: Version | null = null
  void updates?.ready.then(async (found) => {
    await calls.idle(LONGEST_CALL_MS, signal)
    next = found
    leaving.abort(COMES_BACK)
  })
  await using _left = { [Symbol.asyncDispose]: () => keeper.close() }
  await keepLinked({
    url,
    // Only the server knows when the previous credential expires: this machine's clock may be wrong.
    credentials: async () => credentialsOf(state),
    hello,
    answer: calls.answer,
    onFault: (error) =>
      say(`internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`),
    say,
    linked(greeting) {
      parts.ready?.()
      updates?.offered(greeting.update)
    },
    async deleted() {
      say(`this computer was deleted on ${url}; closing its terminals and commands`)
      await keeper.end?.()
    },
    ...(parts.beat && { beat: parts.beat }),
    ...(parts.socketPath && { socketPath: parts.socketPath }),
    ...(parts.longestWaitMs !== undefined && { longestWaitMs: parts.longestWaitMs }),
    signal,
  })
  return parts.signal.aborted ? null : next
}

/** The wait before an update for calls that the keeper doesn't hold, such as a file transfer or a model's answer. */
const LONGEST_CALL_MS = 60_000

/** Ollama's default address. */
const OLLAMA = 'http://127.0.0.1:11434'

/** The daemon's connection to the process that holds terminals and commands. Starts that process if there is none. */
export interface Keeper {
  hello(): Promise<{ keeper_id: string }>
  /** Forwards a call and returns its answer. */
  answer(op: OperationName, input: unknown, stream: Stream, signal: AbortSignal): Promise<object>
  /** Disconnects. The keeper continues. */
  close(): Promise<void>
  /** Ends the keeper with its terminals and commands. */
  end?(): Promise<void>
}

const changesIn = (parts: RunParts, { engines }: DaemonState): Partial<DaemonState> => ({
  ...(parts.allows && { allows: [...parts.allows] }),
  ...(parts.roots && { roots: [...parts.roots] }),
  ...(parts.enginesKept && { engines: { ...engines, ...parts.enginesKept } }),
  ...(typeof parts.updates === 'boolean' && { updates: parts.updates }),
})

const MACHINE_HANDLERS = {
  'daemon.probe': probe,
  'ports.list': listPorts,
  'ports.dial': dial,
  'users.list': listUsers,
  'users.create': createUser,
  'users.update': updateUser,
  'users.delete': deleteUser,
}

function kept(keeper: Keeper): Handlers {
  const handOn =
    (op: OperationName) =>
    (input: unknown, stream: Stream, { signal }: { signal: AbortSignal }) =>
      keeper.answer(op, input, stream, signal)
  return Object.fromEntries(KEEPER_OPERATIONS.map((op) => [op, handOn(op)])) as Handlers
}
