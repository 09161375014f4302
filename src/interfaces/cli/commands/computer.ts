import { join, resolve } from 'node:path'
import { CAPABILITIES, type Capability } from '#core/scopes.ts'
import { PROTOCOL } from '#daemon-protocol/hello.ts'
import { detach } from '#daemon/detach.ts'
import { machine } from '#daemon/machine.ts'
import { FLAGS, currentFile, engineCommand, keeperCommand, ownVersion } from '#daemon/program/own.ts'
import { checkPlace } from '#daemon/program/place.ts'
import { tryOut } from '#daemon/program/try-out.ts'
import { type Version, forgetOthers, makeCurrent, noteFailed } from '#daemon/program/versions.ts'
import { isKnownTo } from '#daemon/link.ts'
import { runDaemon } from '#daemon/run.ts'
import { startKeeperUnit } from '#daemon/service/systemd.ts'
import { ENGINE_FLAGS, KeptEngines, engineSettings } from '#daemon/engines/settings.ts'
import { DaemonFault, credentialsOf, readState, stateDir, writeState } from '#daemon/state.ts'
import { createCall } from '../../client.ts'
import about from '../../../../package.json' with { type: 'json' }
import { kebab } from '../../words.ts'
import { Stop, codeOf } from '../exit.ts'
import type { Globals } from '../globals.ts'
import { parseArguments } from '../input/arguments.ts'
import { textField } from '../input/fields.ts'
import { readText } from '../input/input.ts'
import { targetOf } from '../server/credentials.ts'
import { send } from '../server/send.ts'
import type { Terminal } from '../terminal.ts'
import { pairToken } from './sign-in/pair-token.ts'

export interface ComputerOptions {
  url: string | undefined
  name: string | undefined
  tokenFile: string | undefined
  workspaceId: string | undefined
  allows: Capability[] | null
  roots: string[] | null
  updates: boolean | null
  engines: KeptEngines | null
  detach: boolean
  replace: boolean
  /** Name of the keeper's service, which holds terminals and commands. */
  keeperUnit: string | undefined
  /** Runs as a trial of a new version; the current one waits for the result. */
  trial: boolean
  /** Omits the hint on how to start the daemon: the caller starts it. */
  quiet: boolean
  globals: Globals
}

const switchField = (name: string) => ({ ...textField(name), kind: 'switch' as const })
const fields = [
  ...['url', 'name', 'workspace_id', 'allow', 'keeper_unit'].map(textField),
  { ...textField('token_file'), verbatim: true as const },
  ...Object.values(ENGINE_FLAGS).map(({ flag }) => textField(flag)),
  { ...textField('root'), kind: 'list' as const },
  ...['update', 'detach', 'replace', 'trial', 'quiet'].map(switchField),
]

export async function read(words: readonly string[]): Promise<ComputerOptions> {
  const { input, globals } = await parseArguments(words, fields, readText)
  const { url, name, token_file, workspace_id, allow, root, update, keeper_unit } = input as Record<string, any>
  if (url !== undefined && !(URL.canParse(url) && /^https?:/.test(url)))
    throw new Stop('usage', `"${url}" isn't a server address.`, 'Use an address such as https://uk.example.com.')
  return {
    url: url === undefined ? undefined : new URL(url).origin,
    name,
    tokenFile: token_file,
    workspaceId: workspace_id,
    allows: allow === undefined ? null : allowed(allow),
    roots: root === undefined ? null : (root as string[]).map((folder) => resolve(folder)),
    engines: enginesIn(input as Record<string, string | undefined>),
    updates: update ?? null,
    detach: input.detach === true,
    replace: input.replace === true,
    keeperUnit: keeper_unit,
    trial: input.trial === true,
    quiet: input.quiet === true,
    globals,
  }
}

function enginesIn(input: Record<string, string | undefined>): KeptEngines | null {
  const settings = Object.fromEntries(
    Object.entries(ENGINE_FLAGS).flatMap(([name, { flag }]) => {
      const words = input[flag]
      if (words === undefined) return []
      if (name === 'folder') return [[name, resolve(words)]]
      return [[name, name === 'fetch_allow' ? words.split(',').flatMap((one) => one.trim() || []) : words]]
    }),
  )
  if (Object.keys(settings).length === 0) return null
  const { success, data, error } = KeptEngines.safeParse(settings)
  if (success) return data
  const { flag, takes } = ENGINE_FLAGS[error.issues[0]!.path[0] as keyof KeptEngines]
  throw new Stop('usage', `Invalid value for --${kebab(flag)}: "${input[flag]}".`, `Allowed: ${takes}.`)
}

function allowed(words: string): Capability[] {
  const names = words.split(',').map((word) => word.trim())
  const wrong = names.find((word) => word !== '' && !(CAPABILITIES as readonly string[]).includes(word))
  if (wrong !== undefined)
    throw new Stop('usage', `Unknown capability for --allow: "${wrong}".`, `Allowed: ${CAPABILITIES.join(',')}.`)
  return CAPABILITIES.filter((one) => names.includes(one))
}

export async function pair(words: readonly string[], terminal: Terminal): Promise<number> {
  const options = await read(words)
  return plainly(async () => {
    await joinServer(options, terminal)
    if (!options.quiet)
      terminal.err(
        'Next, start the daemon: `uk computer run`, or `uk computer run --detach` to keep it in the background.',
      )
  })
}

export async function run(words: readonly string[], terminal: Terminal): Promise<number> {
  const options = await read(words)
  const folder = stateDir(terminal.env)
  return plainly(async () => {
    if ((await readState(folder)) === null || options.replace) await joinServer(options, terminal)
    else await pairAnew(options, terminal)
    if (options.detach) return terminal.err(await detach(folder, again(options)))
    const { KeeperClient } = await import('#daemon/keeper/client.ts')
    const stopping = new AbortController()
    const stop = (): void => stopping.abort()
    process.once('SIGTERM', stop).once('SIGINT', stop)
    // The version that started the trial has died.
    if (options.trial) process.once('disconnect', stop)
    const say = (line: string): void => terminal.err(`${new Date().toISOString()} ${line}`)
    const command = keeperCommand()
    for (;;) {
      const next = await runDaemon({
        folder,
        version: about.version,
        allows: options.allows,
        roots: options.roots,
        url: options.url ?? null,
        updates: options.updates,
        own: options.trial ? null : ownVersion,
        keeper: new KeeperClient({
          folder: join(folder, 'keeper'),
          ...(command && { command }),
          ...(options.keeperUnit !== undefined && { starts: startKeeperUnit(options.keeperUnit) }),
          surroundings: () => process.env,
          // The waiting version couldn't use another keeper.
          renews: !options.trial,
        }),
        engines: { ...engineSettings(terminal.env), ...(engineCommand && { program: engineCommand }) },
        enginesKept: options.engines,
        say,
        // Tells the parent process, which started it with --detach or as a trial, while it waits.
        ready: () => void (process.connected && process.send?.('linked', () => {})),
        signal: stopping.signal,
      })
      if (next === null) return
      const words = again(options)
      say(`trying version ${next.release.slice(0, 12)}`)
      const wrong = await tryOut(next, words, stopping.signal)
      if (stopping.signal.aborted) return
      if (wrong === null) await goOver(next, words)
      say(`version ${next.release.slice(0, 12)} failed; keeping the current version: ${wrong}`)
      await noteFailed(next.place, next.release, wrong ?? 'it could not be started')
    }
  })
}

/**
 * Pairs this machine again if its server no longer knows it and a signed-in user starts the daemon. A restarting
 * service doesn't: deleting a computer would have no effect.
 */
async function pairAnew(options: ComputerOptions, terminal: Terminal): Promise<void> {
  const folder = stateDir(terminal.env)
  const before = await readState(folder)
  const byPerson = options.detach || options.name !== undefined || terminal.canAsk
  if (before === null || options.trial || !byPerson) return
  const url = options.url ?? before.server_url
  const { key } = await targetOf(terminal, { ...options.globals, origin: url })
  if (key === undefined) return
  if ((await isKnownTo(url, credentialsOf(before))) !== false) return
  terminal.err(`The computer "${before.name}" was deleted on ${url}. Pairing this machine again.`)
  await joinServer(
    {
      ...options,
      url,
      replace: true,
      name: options.name ?? before.name,
      // Pairing again allows no more than before.
      allows: options.allows ?? before.allows,
      roots: options.roots ?? before.roots,
      updates: options.updates ?? before.updates,
      engines: { ...before.engines, ...options.engines },
    },
    terminal,
  )
  // Processes of the deleted computer don't become part of the new one.
  const { KeeperClient } = await import('#daemon/keeper/client.ts')
  await new KeeperClient({ folder: join(folder, 'keeper') }).end()
}

/** Replaces this process with another version: a service keeps its main process, a terminal its foreground job. */
async function goOver(next: Version, words: readonly string[]): Promise<void> {
  await makeCurrent(next)
  await forgetOthers(next)
  const { UK_PAIR_TOKEN: _, ...env } = process.env
  const argv = [process.execPath, ...FLAGS, currentFile(next.place), 'computer', 'run', ...words]
  process.execve?.(process.execPath, argv, env)
}

/** Pairs this machine with a token, or with the key of the signed-in user. */
export async function joinServer(options: ComputerOptions, terminal: Terminal): Promise<void> {
  const folder = stateDir(terminal.env)
  const before = await readState(folder)
  if (before !== null && !options.replace)
    throw new Stop(
      'conflict',
      `This machine is already paired with ${before.server_url} as "${before.name}".`,
      'Add --replace to pair it again. The old computer stays in your list until you delete it.',
    )
  const { origin, key } = await targetOf(terminal, { ...options.globals, ...(options.url && { origin: options.url }) })
  if (ownVersion) await checkPlace(ownVersion.place, folder, origin)
  const token = await pairToken(origin, key, options, terminal)
  // Imported directly, not through all contracts: the daemon bundle includes only this one.
  const { computers } = await import('#modules/computers/contract.ts')
  const answer = await createCall({ origin, key: undefined, send })(computers.endpoints.pair, {
    token,
    ...(options.name !== undefined && { name: options.name }),
    ...machine(),
    daemon_version: about.version,
    protocol: PROTOCOL,
    allows: options.allows ?? [...CAPABILITIES],
  })
  const { computer, credential } = (JSON.parse(await answer.text()) as Paired).data
  const allows = options.allows ?? [...CAPABILITIES]
  const roots = options.roots ?? ['/']
  await writeState(folder, {
    server_url: origin,
    computer_id: computer.id,
    name: computer.name,
    credential,
    previous: null,
    allows,
    roots,
    updates: options.updates,
    engines: options.engines ?? {},
  })
  terminal.err(`Paired with ${origin} as "${computer.name}" (${computer.id}).`)
  terminal.err(`The server can use: ${allows.join(', ') || 'nothing'}. File access: ${roots.join(', ')}.`)
}

const again = ({ allows, roots, engines, url, updates, keeperUnit }: ComputerOptions): string[] => [
  ...(allows === null ? [] : ['--allow', allows.join(',')]),
  ...(roots ?? []).flatMap((root) => ['--root', root]),
  ...Object.entries(engines ?? {}).flatMap(([name, value]) => [
    `--${kebab(ENGINE_FLAGS[name as keyof KeptEngines].flag)}`,
    [value].flat().join(','),
  ]),
  ...(url === undefined ? [] : ['--url', url]),
  ...(updates === null ? [] : [updates ? '--update' : '--no-update']),
  ...(keeperUnit === undefined ? [] : ['--keeper-unit', keeperUnit]),
]

interface Paired {
  data: { computer: { id: string; name: string }; credential: string }
}

export async function plainly(work: () => Promise<void>): Promise<number> {
  try {
    await work()
  } catch (error) {
    if (error instanceof DaemonFault) throw new Stop(error.kind, error.message, error.hint)
    throw error
  }
  return codeOf('ok')
}
