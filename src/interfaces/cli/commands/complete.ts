import { contracts } from '#modules/contracts.ts'
import type { SendCall } from '../../client.ts'
import { codeOf } from '../exit.ts'
import { type Field, fieldsOf, positionals } from '../input/fields.ts'
import { findCommand } from '../resolve.ts'
import { callerOf } from '../server/caller.ts'
import { type Kind, kindOf, namesOf, pathsFrom } from '../server/names.ts'
import type { Terminal } from '../terminal.ts'

/** Whatever a word may name, besides the kinds of things. */
type Named = Kind | 'file' | 'model'

/** Options that name the same everywhere. */
const options: Readonly<Record<string, Named>> = {
  '--workspace': 'workspace',
  '--agent': 'agent',
  '-a': 'agent',
  '--chat': 'chat',
  '--model': 'model',
  '-m': 'model',
}
/** Commands that are not endpoints, and what their words name. */
const specials: Readonly<Record<string, Named>> = {
  chat: 'chat',
  'workspaces use': 'workspace',
  'open chat': 'chat',
  'open automation': 'automation',
  'computer exec': 'computer',
  'computer ssh': 'computer',
}
/** Resources that only a signed-in person lists: a key press is no moment to ask for a password. */
const secretive: readonly Named[] = ['api_key', 'account']

/**
 * `uk complete -- <words>`: the names that the last of these words may become, one a line, for the scripts of `uk completion`.
 * It says nothing where it knows nothing, and never fails: a shell shows what it prints.
 */
export async function complete(words: readonly string[], terminal: Terminal): Promise<number> {
  const typed = words.slice(words.indexOf('--') + 1)
  const current = typed.at(-1) ?? ''
  try {
    const named = await namedBy(typed.slice(0, -1))
    if (named === null || secretive.includes(named)) return codeOf('ok')
    const { call } = await callerOf({}, terminal)
    const names = await allOf(named, current, call)
    // What holds a line break or worse is not offered: a shell would take it for more than a name.
    await terminal.out(
      names
        .filter((name) => !/\p{Cc}/u.test(name))
        .map((name) => `${name}\n`)
        .join(''),
    )
  } catch {
    // Signed out, or away.
  }
  return codeOf('ok')
}

async function allOf(named: Named, current: string, call: SendCall): Promise<string[]> {
  if (named === 'file') return pathsFrom(current, call)
  if (named !== 'model') return namesOf(named, call)
  const { endpoints } = await contracts.models()
  const text = await (await call(endpoints.search, { q: current, limit: 100 })).text()
  return (JSON.parse(text) as { items: { slug: string }[] }).items.map(({ slug }) => slug)
}

async function namedBy(before: readonly string[]): Promise<Named | null> {
  const last = before.at(-1) ?? ''
  if (last in options) return options[last]!
  const special =
    specials[
      before
        .filter((word) => !word.startsWith('-'))
        .slice(0, 2)
        .join(' ')
    ] ?? specials[before[0] ?? '']
  if (special !== undefined && !last.startsWith('-')) return special
  const found = await findCommand(before)
  if (found.kind !== 'command') return null
  const { endpoint } = found.listed
  const fields = fieldsOf(endpoint)
  const flag = fields.find((field) => `--${field.flag}` === last)
  if (flag) return flag.kind === 'switch' ? null : named(endpoint, flag.name)
  const place = positionals(fields)[placedIn(found.rest, fields)]
  return place === undefined ? null : named(endpoint, place.name)
}

function named(endpoint: Parameters<typeof kindOf>[0], field: string): Named | null {
  if (field === 'model' || (field === 'id' && endpoint.path === '/models/:id')) return 'model'
  const kind = kindOf(endpoint, field)
  return kind === undefined || kind === 'member' ? null : kind
}

/** The number of values that stand among the words by position. */
function placedIn(words: readonly string[], fields: readonly Field[]): number {
  let count = 0
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    if (!word.startsWith('-')) count++
    else if (!word.includes('=') && fields.some(({ flag, kind }) => `--${flag}` === word && kind !== 'switch')) i++
  }
  return count
}
