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

/** What the machine says of its engines for local models. */
export type EngineSettings = Partial<Omit<EnginesOptions, 'folder'>>

export interface RunParts {
  /** The folder of its state. */
  folder: string
  version: string
  /** What it is told to allow from now on; null: what it was told before. */
  allows: readonly Capability[] | null
  roots: readonly string[] | null
  /** What it is told of its engines from now on; null: what it was told before. */
  enginesKept?: KeptEngines | null
  url: string | null
  /** Whether the server may exchange this program from now on; null: as it was told before. */
  updates?: boolean | null
  /** What runs, where a server has installed it; absent: it is not exchanged. */
  own?: Version | null
  keeper: Keeper
  engines?: EngineSettings
  say(line: string): void
  /** It has been linked for the first time. */
  ready?(): void
  beat?: Beat
  /** The server listens there, on this machine; asked before each attempt. */
  socketPath?: () => string
  /** Between two attempts. */
  longestWaitMs?: number
  signal: AbortSignal
}

/**
 * The daemon: links this machine to its server and does what that asks, until the signal. Answers a version of this program
 * that should take its place; null: it was to stop.
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
  // Who may read files does not get to speak as this machine, nor who may write some to say what is allowed here.
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
    // Asked again, the one before is still the one before.
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
  // What ran before goes on, and is known to the server from its first word.
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
    // The server alone knows when the one before has ended: the clock of this machine may be wrong by any time.
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

/** What the keeper does not hold (a file on its way, a model's answer) is waited for so long before a version is exchanged. */
const LONGEST_CALL_MS = 60_000

/** Where an Ollama listens unless told otherwise. */
const OLLAMA = 'http://127.0.0.1:11434'

/** The process that holds terminals and commands, as the daemon reaches it: it is started where there is none. */
export interface Keeper {
  hello(): Promise<{ keeper_id: string }>
  /** Hands a call on, and what comes of it back. */
  answer(op: OperationName, input: unknown, stream: Stream, signal: AbortSignal): Promise<object>
  /** Leaves; it goes on. */
  close(): Promise<void>
  /** Ends it and all that it holds. */
  end?(): Promise<void>
}

/** The settings that this start changes. */
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
