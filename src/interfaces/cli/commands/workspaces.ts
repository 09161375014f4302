import { parseArguments } from '../input/arguments.ts'
import { codeOf } from '../exit.ts'
import { textField } from '../input/fields.ts'
import { readText } from '../input/input.ts'
import { callerOf } from '../server/caller.ts'
import { idOf } from '../server/names.ts'
import { remember, remembered } from '../server/state.ts'
import { contracts } from '#modules/contracts.ts'
import { type Terminal, clean, shown } from '../terminal.ts'

const fields = [
  { ...textField('name'), inPath: true },
  { ...textField('clear'), kind: 'switch' as const },
]

/** `uk workspaces use [name]`: shows, selects or clears the default workspace. */
export async function use(words: readonly string[], terminal: Terminal): Promise<number> {
  const { input, globals } = await parseArguments(words, fields, readText)
  const { name, clear } = input as { name?: string; clear?: boolean }
  const caller = await callerOf(globals, terminal)
  if (clear) {
    await remember(caller.target, { workspace: undefined }, terminal)
    terminal.err('Cleared. Commands now use your personal workspace.')
    return codeOf('ok')
  }
  if (name !== undefined) {
    const id = await idOf('workspace', name, caller.call)
    const answer = await caller.call((await contracts.workspaces()).endpoints.get, { id })
    const { data } = JSON.parse(await answer.text()) as { data: { id: string; name: string } }
    await remember(caller.target, { workspace: { id: data.id, name: data.name } }, terminal)
    terminal.err(clean(`Commands now use the workspace ${data.name}. To undo this: uk workspaces use --clear`))
    return codeOf('ok')
  }
  const { workspace } = await remembered(caller.target, terminal)
  if (globals.json) await terminal.out(`${JSON.stringify({ workspace: workspace ?? null })}\n`)
  else if (workspace) await terminal.out(shown(`${workspace.name}  ${workspace.id}\n`, terminal))
  else terminal.err('No workspace selected. Select one: uk workspaces use <name>')
  return codeOf('ok')
}
