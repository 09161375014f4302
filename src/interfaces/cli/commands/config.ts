import { ConfigRefused, describeSettings, readConfig } from '#config'
import { parseArguments } from '../input/arguments.ts'
import { Stop, codeOf } from '../exit.ts'
import { readText } from '../input/input.ts'
import { pad, type Terminal } from '../terminal.ts'

/** `uk config`: the settings a server would start with in this environment. */
export async function config(words: readonly string[], terminal: Terminal): Promise<number> {
  const { globals } = await parseArguments(words, [], readText)
  const settings = describeSettings(terminal.env)
  if (globals.json) await terminal.out(`${JSON.stringify(settings)}\n`)
  else {
    const width = Math.max(...settings.map(({ name }) => name.length))
    const lines = settings.map(({ name, value, set, meaning }) => {
      const shown = value === '' ? '(empty)' : value
      return `${terminal.style(set ? 'bold' : 'dim', pad(name, width))}  ${set ? shown : terminal.style('dim', shown)}\n${' '.repeat(width + 2)}${meaning}\n`
    })
    await terminal.out(lines.join(''))
  }
  // The same warnings as at startup.
  try {
    for (const warning of readConfig(terminal.env).warnings) terminal.err(`warning: ${warning}`)
  } catch (error) {
    if (error instanceof ConfigRefused)
      throw new Stop('usage', `${error.message}.`, "The server won't start with this setting.")
    throw error
  }
  return codeOf('ok')
}
