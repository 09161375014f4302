import { type SendCall, createCall } from '../../client.ts'
import type { Globals } from '../globals.ts'
import { Stop } from '../exit.ts'
import { type Target, targetOf } from './credentials.ts'
import { send } from './send.ts'
import type { Terminal } from '../terminal.ts'

export interface Caller {
  target: Target
  call: SendCall
}

export function signedIn(target: Target): Caller {
  const { origin, key } = target
  if (key === undefined) throw new Stop('auth', `Not signed in to ${origin}.`, 'Run `uk login`, or set UK_KEY.')
  return { target, call: createCall({ origin, key, send }) }
}

export const callerOf = async (globals: Globals, terminal: Terminal): Promise<Caller> =>
  signedIn(await targetOf(terminal, globals))
