import { contracts } from '#areas/contracts.ts'
import type { Listed } from '#kernel/registry.ts'
import { type Incoming, type Loaders, type More, type SendCall, createCall } from '../../client.ts'
import type { Globals } from '../globals.ts'
import { arrive, isOnItsWay } from './arrive.ts'
import { takesComputer, withComputerId } from './computers.ts'
import { targetOf } from './credentials.ts'
import { Stop } from '../exit.ts'
import { followRun } from '../output/follow.ts'
import { print } from '../output/print.ts'
import { send } from './send.ts'
import type { Terminal } from '../terminal.ts'

/** Sends one call and prints its answer; what only a signed-in person may do asks for the password first. */
export async function callEndpoint(
  listed: Listed,
  input: Record<string, unknown>,
  globals: Globals,
  terminal: Terminal,
): Promise<number> {
  const { auth = 'any' } = listed.endpoint
  const { origin, key } = await targetOf(terminal, globals)
  const go = (call: SendCall) => answer(listed, input, globals, terminal, call)
  if (auth === 'session') {
    if (!globals['password-stdin'] && terminal.canAsk) terminal.err(whyPassword(listed.area.name))
    return (await import('./session.ts')).withSession(origin, globals, terminal, go)
  }
  if (auth === 'any' && key === undefined)
    throw new Stop('auth', `Not signed in to ${origin}.`, 'Run `uk login`, or set UK_KEY.')
  return go(createCall({ origin, key: auth === 'any' ? key : undefined, send }))
}

const whyPassword = (area: string): string =>
  area === 'api_keys' ? 'Keys are managed only by a signed-in person.' : 'Only a signed-in person may do this.'

async function answer(
  listed: Listed,
  given: Record<string, unknown>,
  globals: Globals,
  terminal: Terminal,
  call: SendCall,
): Promise<number> {
  const input = takesComputer(listed.endpoint) ? await withComputerId(call, given) : given
  const { fields, more: carried } = await fileIn(listed, input)
  const ask = (further: Record<string, unknown> = {}, more?: More) =>
    call(listed.endpoint, { ...fields, ...further }, { ...carried, ...more })
  using run = followRun(listed.name, input, terminal)
  const response = await ask()
  const settled =
    globals.wait && response.status === 202 && listed.endpoint.reply.kind === 'operation'
      ? await settle(response, call, terminal)
      : globals.wait && isOnItsWay(listed)
        ? await arrive(response, call, terminal)
        : response
  return print({ listed, response: settled, next: (cursor) => ask({ cursor }), globals, terminal, run })
}

/** The path in `--file` as the bytes that it names, read while they are sent. */
async function fileIn(
  { endpoint }: Listed,
  { file, ...fields }: Record<string, unknown>,
): Promise<{ fields: Record<string, unknown>; more: More }> {
  if (endpoint.takes !== 'multipart' || typeof file !== 'string')
    return { fields: file === undefined ? fields : { ...fields, file }, more: {} }
  const [{ openAsBlob }, { basename }] = await Promise.all([import('node:fs'), import('node:path')])
  const bytes = await Promise.try(openAsBlob, file).catch(() => {
    throw new Stop('usage', `${file} cannot be read: it is not there, or this user may not read it.`)
  })
  return { fields, more: { file: { bytes, name: basename(file) } } }
}

interface Operation {
  id: string
  status: string
  progress: number | null
}
const terminalStates = ['succeeded', 'failed', 'cancelled', 'expired']

/** Waits until background work has ended; answers its last state. */
async function settle(accepted: Incoming, call: SendCall, terminal: Terminal): Promise<Incoming> {
  const wait = (await (contracts as Loaders).operations?.())?.endpoints.await
  if (!wait) throw new Stop('usage', 'There is nothing to wait with in this version.')
  let response = accepted
  for (;;) {
    const text = await response.text()
    const { id, status, progress } = (JSON.parse(text) as { data: Operation }).data
    if (terminalStates.includes(status)) return { ...response, text: async () => text }
    terminal.err(`${status}${progress === null || progress === undefined ? '' : ` ${Math.round(progress * 100)} %`} …`)
    response = await call(wait, { id, since_status: status, timeout_seconds: 60 })
  }
}
