import { contracts } from '#modules/contracts.ts'
import type { SendCall } from '../../client.ts'
import { codeOf } from '../exit.ts'
import { type Field, fieldsOf, positionals } from '../input/fields.ts'
import { findCommand } from '../resolve.ts'
import { callerOf } from '../server/caller.ts'
import { type Kind, kindOf, namesOf, pathsFrom } from '../server/names.ts'
import type { Terminal } from '../terminal.ts'

type Named = Kind | 'file' | 'model'

/** Options with the same meaning in every command. */
const options: Readonly<Record<string, Named>> = {
  '--workspace': 'workspace',
  '--agent': 'agent',
  '-a': 'agent',
  '--chat': 'chat',
  '--model': 'model',
  '-m': 'model',
}
const specials: Readonly<Record<string, Named>> = {
  chat: 'chat',
  'workspaces use': 'workspace',
  'open chat': 'chat',
  'open automation': 'automation',
  'computer exec': 'computer',
  'computer ssh': 'computer',
}
/** Listing these needs the password, which completion must not ask for. */
const secretive: readonly Named[] = ['api_key', 'account']

/**
 * `uk complete -- <words>`: prints completions for the last word, one per line, for the scripts of `uk completion`.
 * Prints nothing on any error, since a shell would show it.
 */
export async function complete(words: readonly string[], terminal: Terminal): Promise<number> {
  const typed = words.slice(words.indexOf('--') + 1)
  const current = typed.at(-1) ?? ''
  try {
    const kind = await namedBy(typed.slice(0, -1))
    if (kind === null || secretive.includes(kind)) return codeOf('ok')
    const { call } = await callerOf({}, terminal)
    const names = await allOf(kind, current, call)
    // Names with control characters aren't offered: a shell would read more than a name.
    await terminal.out(
      names
        .filter((name) => !/\p{Cc}/u.test(name))
        .map((name) => `${name}\n`)
        .join(''),
    )
  } catch {
    // Not signed in, or the server can't be reached.
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
  const match = await findCommand(before)
  if (match.kind !== 'command') return null
  const { endpoint } = match.listed
  const fields = fieldsOf(endpoint)
  const flag = fields.find((field) => `--${field.flag}` === last)
  if (flag) return flag.kind === 'switch' ? null : named(endpoint, flag.name)
  const place = positionals(fields)[placedIn(match.rest, fields)]
  return place === undefined ? null : named(endpoint, place.name)
}

function named(endpoint: Parameters<typeof kindOf>[0], field: string): Named | null {
  if (field === 'model' || (field === 'id' && endpoint.path === '/models/:id')) return 'model'
  const kind = kindOf(endpoint, field)
  return kind === undefined || kind === 'member' ? null : kind
}

function placedIn(words: readonly string[], fields: readonly Field[]): number {
  let count = 0
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    if (!word.startsWith('-')) count++
    else if (!word.includes('=') && fields.some(({ flag, kind }) => `--${flag}` === word && kind !== 'switch')) i++
  }
  return count
}
