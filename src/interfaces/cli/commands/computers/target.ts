import { contracts } from '#modules/contracts.ts'
import { type SendCall, createCall } from '../../../client.ts'
import { Stop } from '../../exit.ts'
import type { Globals } from '../../globals.ts'
import { findComputer } from '../../server/computers.ts'
import { targetOf } from '../../server/credentials.ts'
import { send } from '../../server/send.ts'
import type { Terminal } from '../../terminal.ts'

export interface Target {
  id: string
  name: string
  origin: string
  key: string
  call: SendCall
}

export async function computerNamed(word: string, globals: Globals, terminal: Terminal): Promise<Target> {
  const { origin, key } = await targetOf(terminal, globals)
  if (key === undefined) throw new Stop('auth', `Not signed in to ${origin}.`, 'Run `uk login`, or set UK_KEY.')
  const call = createCall({ origin, key, send })
  return { ...(await findComputer(call, word)), origin, key, call }
}

/** Base folder of relative paths, as in scp(1). */
export async function homeOf({ id, name, call }: Target): Promise<string> {
  const { endpoints } = await contracts.computers()
  const answer = await call(endpoints.test_connection, { id })
  const { home = null } = (JSON.parse(await answer.text()) as { data: { home?: string | null } }).data
  if (home !== null) return home
  throw new Stop(
    'usage',
    `"${name}" doesn't report its home folder: its daemon or the server is too old.`,
    `Use an absolute path: ${name}:/path.`,
  )
}
