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

/** `uk workspaces use [name]`: the workspace that commands mean where none is named; shown, chosen, cleared. */
export async function use(words: readonly string[], terminal: Terminal): Promise<number> {
  const { input, globals } = await parseArguments(words, fields, readText)
  const { name, clear } = input as { name?: string; clear?: boolean }
  const caller = await callerOf(globals, terminal)
  if (clear) {
    await remember(caller.target, { workspace: undefined }, terminal)
    terminal.err('No workspace is chosen: commands mean what the server takes by itself, your personal one.')
    return codeOf('ok')
  }
  if (name !== undefined) {
    const id = await idOf('workspace', name, caller.call)
    const answer = await caller.call((await contracts.workspaces()).endpoints.get, { id })
    const { data } = JSON.parse(await answer.text()) as { data: { id: string; name: string } }
    await remember(caller.target, { workspace: { id: data.id, name: data.name } }, terminal)
    terminal.err(clean(`Commands mean the workspace ${data.name} from here on. \`uk workspaces use --clear\` ends it.`))
    return codeOf('ok')
  }
  const { workspace } = await remembered(caller.target, terminal)
  if (globals.json) await terminal.out(`${JSON.stringify({ workspace: workspace ?? null })}\n`)
  else if (workspace) await terminal.out(shown(`${workspace.name}  ${workspace.id}\n`, terminal))
  else terminal.err('No workspace is chosen. Choose one: uk workspaces use <name>')
  return codeOf('ok')
}
