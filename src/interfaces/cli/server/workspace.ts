import type { Globals } from '../globals.ts'
import type { Caller } from './caller.ts'
import { idOf } from './names.ts'
import { remembered } from './state.ts'
import type { Terminal } from '../terminal.ts'

/**
 * The workspace of a command: `--workspace`, then UK_WORKSPACE, then the one selected with `uk workspaces use`.
 * Undefined leaves the choice to the server, as does `none`.
 */
export async function workspaceOf(
  { workspace }: Globals,
  { call, target }: Caller,
  terminal: Terminal,
): Promise<{ id: string; name: string } | undefined> {
  const word = workspace ?? (terminal.env.UK_WORKSPACE || undefined)
  if (word === 'none') return undefined
  if (word !== undefined) return { id: await idOf('workspace', word, call), name: word }
  return (await remembered(target, terminal)).workspace
}
