import { join } from 'node:path'
import { KeeperClient } from '#daemon/keeper/client.ts'
import { holderOf, isHeld } from '#daemon/lock.ts'
import {
  KEEPER_FLAGS,
  keeperCommand,
  lastingAddon,
  lastingCommand,
  ownCommand,
  ownVersion,
} from '#daemon/program/own.ts'
import { isKnownTo } from '#daemon/link.ts'
import { checkPlace } from '#daemon/program/place.ts'
import { mayUpdate } from '#daemon/program/updates.ts'
import { readFailed } from '#daemon/program/versions.ts'
import { launchd } from '#daemon/service/launchd.ts'
import type { ServiceManager } from '#daemon/service/service.ts'
import { systemd } from '#daemon/service/systemd.ts'
import { credentialsOf, readState, stateDir, writeState } from '#daemon/state.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import about from '../../../../package.json' with { type: 'json' }
import { Stop } from '../exit.ts'
import { parseArguments } from '../input/arguments.ts'
import { readText } from '../input/input.ts'
import type { Terminal } from '../terminal.ts'
import { joinServer, plainly, read } from './computer.ts'

const ENDS_MS = 15_000

const managerOf = ({ env }: Terminal): ServiceManager => {
  const state = stateDir(env)
  return process.platform === 'darwin' ? launchd(state) : systemd(env, state)
}

export async function install(words: readonly string[], terminal: Terminal): Promise<number> {
  const options = await read(words)
  const folder = stateDir(terminal.env)
  return plainly(async () => {
    const manager = managerOf(terminal)
    await manager.check()
    if ((await readState(folder)) === null || options.replace) await joinServer(options, terminal)
    const state = (await readState(folder))!
    if (ownVersion) await checkPlace(ownVersion.place, folder, options.url ?? state.server_url)
    await endDaemon(folder)
    await writeState(folder, {
      ...state,
      server_url: options.url ?? state.server_url,
      allows: options.allows ?? state.allows,
      roots: options.roots ?? state.roots,
      updates: options.updates ?? state.updates,
      engines: { ...state.engines, ...options.engines },
    })
    const keeper = keeperCommand(lastingCommand, lastingAddon) ?? [process.execPath, ...FROM_CLONE]
    const messages = await manager.install(state.name, {
      server: state.server_url,
      daemon: [...lastingCommand, 'computer', 'run'],
      keeper: [...keeper, join(folder, 'keeper')],
      environment: { ...surroundings(terminal.env), UK_CONFIG_DIR: folder },
    })
    for (const line of messages) terminal.err(line)
  })
}

const FROM_CLONE = [
  '--disable-warning=ExperimentalWarning',
  ...KEEPER_FLAGS,
  join(import.meta.dirname, '../../../daemon/keeper/main.ts'),
]

/** Variables the daemon and its child programs read: a service starts with a bare environment. */
const surroundings = (env: Terminal['env']): Record<string, string> =>
  Object.fromEntries(
    ['PATH', 'OLLAMA_HOST', 'OLLAMA_CONTEXT_LENGTH'].flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  )

/** Stops a manually started daemon, which would block the service. */
async function endDaemon(folder: string): Promise<void> {
  const lock = join(folder, 'daemon.lock')
  const end = performance.now() + ENDS_MS
  if (!isHeld(lock)) return
  const pid = Number(holderOf(lock))
  process.kill(pid, 'SIGTERM')
  while (isHeld(lock) && holderOf(lock) === String(pid)) {
    if (performance.now() > end)
      throw new Stop('failure', `The running daemon (process ${pid}) doesn't stop. Stop it and try again.`)
    await sleep(50)
  }
}

export async function uninstall(words: readonly string[], terminal: Terminal): Promise<number> {
  await parseArguments(words, [], readText)
  return plainly(async () => {
    if (!(await managerOf(terminal).uninstall()))
      throw new Stop('not_found', "The daemon isn't installed as a service on this machine.")
    terminal.err('Removed the service. This machine is still paired. Start the daemon with `uk computer run`.')
  })
}

export async function status(words: readonly string[], terminal: Terminal): Promise<number> {
  const { globals } = await parseArguments(words, [], readText)
  const folder = stateDir(terminal.env)
  return plainly(async () => {
    const state = await readState(folder)
    const lock = join(folder, 'daemon.lock')
    const keeper = await new KeeperClient({ folder: join(folder, 'keeper') }).find()
    const manager = managerOf(terminal)
    const service = await manager.status()
    const failed = ownVersion && (await readFailed(ownVersion.place))
    const report = {
      computer_id: state?.computer_id ?? null,
      name: state?.name ?? null,
      server_url: state?.server_url ?? null,
      known_to_server: state && (await isKnownTo(state.server_url, credentialsOf(state))),
      allows: state?.allows ?? null,
      roots: state?.roots ?? null,
      service: service?.state ?? null,
      service_name: service?.name ?? null,
      daemon_pid: isHeld(lock) ? Number(holderOf(lock)) : null,
      keeper_pid: keeper?.pid ?? null,
      version: about.version,
      release: ownVersion?.release ?? null,
      updates: state !== null && ownVersion !== null && mayUpdate(state),
      failed_update: failed,
      program: ownCommand.join(' '),
    }
    if (globals.json) return terminal.out(`${JSON.stringify(report)}\n`)
    const rows = Object.entries(report).map(
      ([name, value]) => `${name.padEnd(15)} ${value === null ? '–' : plain(value)}\n`,
    )
    await terminal.out(rows.join(''))
    if (report.known_to_server === false)
      terminal.err(`This computer was deleted on ${report.server_url}. Pair it again: uk computer run --detach`)
  })
}

const plain = (value: unknown): string =>
  Array.isArray(value)
    ? value.join(', ') || 'nothing'
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)
