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

/** Where a command goes that names a computer by its id or its name. */
export async function computerNamed(word: string, globals: Globals, terminal: Terminal): Promise<Target> {
  const { origin, key } = await targetOf(terminal, globals)
  if (key === undefined) throw new Stop('auth', `Not signed in to ${origin}.`, 'Run `uk login`, or set UK_KEY.')
  const call = createCall({ origin, key, send })
  return { ...(await findComputer(call, word)), origin, key, call }
}
