import { contracts } from '#modules/contracts.ts'
import { credentialsFor } from '#core/access.ts'
import type { AnyEndpoint } from '#core/contract.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import { type Incoming, type Loaders, type More, type SendCall, createCall } from '../../client.ts'
import type { Globals } from '../globals.ts'
import { arrive, isOnItsWay } from './arrive.ts'
import { type Caller, signedIn } from './caller.ts'
import { targetOf } from './credentials.ts'
import { Stop } from '../exit.ts'
import { takesFiles } from '../input/fields.ts'
import { type Waiting, decider } from '../output/decide.ts'
import { followRun } from '../output/follow.ts'
import { withFormat } from '../media/made.ts'
import { print, refuseChoice } from '../output/print.ts'
import { send } from './send.ts'
import { withIds } from './names.ts'
import { personal } from './personal.ts'
import { workspaceOf } from './workspace.ts'
import type { Terminal } from '../terminal.ts'

/** Calls an endpoint and prints the response. Session-only endpoints ask for the password first. */
export async function callEndpoint(
  listed: ListedEndpoint,
  input: Record<string, unknown>,
  globals: Globals,
  terminal: Terminal,
): Promise<number> {
  const credentials = credentialsFor(listed.endpoint.access)
  const target = await targetOf(terminal, globals)
  const { origin } = target
  const go = async (call: SendCall): Promise<number> => {
    const resolve = (values: Record<string, unknown>) => meant(listed, values, globals, { target, call }, terminal)
    const send = (values: Record<string, unknown>) => answer(listed, values, globals, terminal, { target, call })
    if (!takesFiles(listed.endpoint)) return send(await resolve(input))
    const { sendFiles } = await import('./files/send-files.ts')
    return sendFiles({ input, globals, terminal, call, toDrive: listed.name === 'drive.upload', resolve, send })
  }
  if (credentials === 'session') {
    const why = whyPassword(listed.area.name)
    return (await import('./session.ts')).withSession(origin, globals, terminal, go, { why })
  }
  return go(credentials === 'key_or_session' ? signedIn(target).call : createCall({ origin, send }))
}

/** Fills in the selected workspace and resolves names to IDs. */
async function meant(
  { name, area, endpoint }: ListedEndpoint,
  input: Record<string, unknown>,
  globals: Globals,
  caller: Caller,
  terminal: Terminal,
): Promise<Record<string, unknown>> {
  const workspace = takesWorkspace(endpoint, area.name, input, globals)
    ? await workspaceOf(globals, caller, terminal)
    : undefined
  const fields = workspace === undefined ? input : { workspace_id: workspace.id, ...input }
  const needsPlace =
    (name === 'drive.upload' || name === 'drive.create_folder') && !('workspace_id' in fields || 'parent_id' in fields)
  const own = needsPlace ? { workspace_id: await personal(caller.call) } : {}
  return withIds(endpoint, { ...own, ...fields }, caller.call)
}

/**
 * Areas whose resources belong to a workspace. Elsewhere `workspace_id` has other meanings, such as what a key can
 * reach.
 */
const inWorkspaces = new Set([
  'agents',
  'chats',
  'automations',
  'drive',
  'inference',
  'search',
  'webhooks',
  'computers',
  'computer_pairings',
  'cloud_computers',
])

/** Whether the selected workspace applies: the call creates or lists something and names no place itself. */
function takesWorkspace(
  endpoint: AnyEndpoint,
  area: string,
  input: Record<string, unknown>,
  { workspace }: Globals,
): boolean {
  const field = [endpoint.body, endpoint.query].some((fields) => fields !== undefined && 'workspace_id' in fields)
  const target = endpoint.path.includes('/:') || input.parent_id !== undefined || input.workspace_id !== undefined
  // An explicit --workspace applies everywhere.
  return field && !target && (workspace !== undefined || inWorkspaces.has(area))
}

const whyPassword = (area: string): string =>
  area === 'api_keys' ? 'Managing API keys requires your password.' : 'This requires your password.'

async function answer(
  listed: ListedEndpoint,
  input: Record<string, unknown>,
  globals: Globals,
  terminal: Terminal,
  { target, call }: Caller,
): Promise<number> {
  // A terminal shows the most used models, so fetch them all.
  if (listed.name === 'models.list' && terminal.interactive) input = { limit: 100, ...input }
  const { fields, more: carried } = await fileIn(listed, withFormat(listed.name, input, globals.output))
  const large = await largeFile(listed, input)
  const ask = (further: Record<string, unknown> = {}, more?: More) =>
    call(listed.endpoint, { ...fields, ...further }, { ...carried, ...more })
  if (listed.endpoint.reply.kind === 'bytes' && globals.output !== undefined && globals.output !== '-') {
    refuseChoice(globals)
    const { download, isPlain } = await import('./download.ts')
    if (await isPlain(globals.output)) {
      const what = [target.origin, target.account, listed.name, input]
      return download({ output: globals.output, what, ask: (more) => ask({}, more) }, terminal)
    }
  }
  using run = followRun(listed.name, input, terminal)
  const response = large === null ? await ask() : await large({ target, call }, terminal)
  // --output implies --wait.
  const waits = globals.wait || globals.output !== undefined
  const finalResponse =
    waits && response.status === 202 && listed.endpoint.reply.kind === 'operation'
      ? await settle(response, call, terminal)
      : globals.wait && isOnItsWay(listed)
        ? await arrive(response, call, terminal)
        : response
  const options = { ...globals, ...(finalResponse === response ? {} : { wait: true as const }) }
  const next = (cursor: string) => ask({ cursor })
  const open = (url: string) => send({ method: 'GET', url, headers: {}, body: null, signal: undefined })
  const follow = async ({ id, chat_id }: Waiting) =>
    call((await contracts.chats()).endpoints.events, { id: chat_id, run_id: id })
  const decide = decider(call, globals, terminal)
  return print({
    listed,
    input,
    origin: target.origin,
    call,
    response: finalResponse,
    next,
    open,
    globals: options,
    terminal,
    run,
    decide,
    follow,
  })
}

/** Returns the resumable upload for files too large for one request. */
async function largeFile(
  { name }: ListedEndpoint,
  { file, ...place }: Record<string, unknown>,
): Promise<((caller: Caller, terminal: Terminal) => Promise<Incoming>) | null> {
  if (name !== 'drive.upload' || typeof file !== 'string') return null
  const [{ stat }, { SMALL, upload }] = await Promise.all([import('node:fs/promises'), import('./upload.ts')])
  const { size } = await stat(file).catch(() => ({ size: 0 }))
  return size > SMALL ? (caller, terminal) => upload(file, place, caller, terminal) : null
}

/** Opens the local file in `--file`; it is read while it's sent. */
async function fileIn(
  { endpoint }: ListedEndpoint,
  { file, ...fields }: Record<string, unknown>,
): Promise<{ fields: Record<string, unknown>; more: More }> {
  if (endpoint.takes !== 'multipart' || typeof file !== 'string')
    return { fields: file === undefined ? fields : { ...fields, file }, more: {} }
  const [{ openAsBlob }, { basename }] = await Promise.all([import('node:fs'), import('node:path')])
  const bytes = await Promise.try(openAsBlob, file).catch(() => {
    throw new Stop('usage', `Can't read ${file}: it doesn't exist, or you don't have permission.`)
  })
  return { fields, more: { file: { bytes, name: basename(file) } } }
}

interface Operation {
  id: string
  status: string
  progress: number | null
}
const terminalStates = ['succeeded', 'failed', 'cancelled', 'expired']

/** Poll interval in a terminal, which shows progress. Elsewhere only state changes print. */
const LOOK_SECONDS = 1
const WAIT_SECONDS = 60

/** Waits for a background operation and returns its final state. Ctrl-C stops only the waiting. */
async function settle(accepted: Incoming, call: SendCall, terminal: Terminal): Promise<Incoming> {
  const wait = (await (contracts as Loaders).operations?.())?.endpoints.await
  if (!wait) throw new Stop('usage', "This version doesn't support --wait.")
  const timeout_seconds = terminal.canAsk ? LOOK_SECONDS : WAIT_SECONDS
  let work = ''
  const tellRunning = (): void =>
    terminal.err(
      `\nStill running. Check it: \`uk operations get ${work}\`. Cancel it: \`uk operations cancel ${work}\`.`,
    )
  const back = terminal.onInterrupt(tellRunning)
  let lastLine = ''
  const { workOn } = await import('../output/progress.ts')
  using progressLine = process.stderr.isTTY && terminal.canAsk ? workOn(process.stderr) : null
  try {
    for (let response = accepted; ;) {
      const text = await response.text()
      const { id, status, progress } = (JSON.parse(text) as { data: Operation }).data
      work = id
      if (terminalStates.includes(status)) return { ...response, text: async () => text }
      if (progressLine !== null) progressLine.update(status, progress ?? null)
      const now = `${status}${progress === null || progress === undefined ? '' : ` ${Math.round(progress * 100)} %`} …`
      if (now !== lastLine && progressLine === null) terminal.err(now)
      lastLine = now
      response = await call(wait, { id, since_status: status, timeout_seconds })
    }
  } catch (error) {
    tellRunning()
    throw error
  } finally {
    back()
  }
}
