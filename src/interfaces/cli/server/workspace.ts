import type { Globals } from '../globals.ts'
import type { Caller } from './caller.ts'
import { idOf } from './names.ts'
import { remembered } from './state.ts'
import type { Terminal } from '../terminal.ts'

/**
 * The workspace that a command means: of `--workspace`, else of UK_WORKSPACE, else the one that `uk workspaces use` chose;
 * undefined is what the server takes by itself. `none` names none of them.
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
