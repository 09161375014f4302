import type { ListedEndpoint } from '#core/registry.ts'
import { wordsOf } from '../../words.ts'
import { fileOf } from '../media/made.ts'
import { type Field, fieldsOf, positionals } from '../input/fields.ts'

export const usageOf = (listed: ListedEndpoint): string =>
  [
    'uk',
    ...wordsOf(listed),
    ...positionals(fieldsOf(listed.endpoint)).map(({ flag, several }) => (several ? `[<${flag}>...]` : `<${flag}>`)),
  ].join(' ')

/** Example commands: the shortest call first, then common options. */
export function exampleCommands(listed: ListedEndpoint): string[] {
  const fields = fieldsOf(listed.endpoint)
  const positionalFields = positionals(fields)
  const flags = fields.filter((field) => !field.inPath)
  const { method, errors, reply } = listed.endpoint
  const { kind } = reply
  const optional = flags.find(
    (field) =>
      !field.required && !field.secret && !field.several && !['limit', 'cursor', 'offset'].includes(field.name),
  )
  const byFlag = flags.filter((field) => field.required && !positionalFields.includes(field))
  const required = byFlag.map((field) => `--${field.flag} ${field.secret ? '-' : sample(field)}`)
  const least = ['uk', ...wordsOf(listed), ...positionalFields.map(sample), ...required].join(' ')
  // Some calls need at least one of several fields, and a PATCH needs something to change.
  const files = positionalFields.some(({ several }) => several)
  const enough = optional === undefined || files || !(method === 'PATCH' || errors?.includes('missing_parameter'))
  const lines = enough ? [least] : []
  if (optional) lines.push(`${least} --${optional.flag}${optional.kind === 'switch' ? '' : ` ${sample(optional)}`}`)
  if (files && flags.some(({ name }) => name === 'recursive'))
    lines.push(`${['uk', ...wordsOf(listed)].join(' ')} -r ./photos`)
  if (kind === 'page') lines.push(`${least} --all --json`)
  const fileName = fileOf(listed.name)
  if (fileName) lines.push(`${least} -o ${fileName}`)
  else if (kind === 'operation') lines.push(`${least} --wait`)
  if (kind === 'bytes') lines.push(`${least} --output file`)
  return lines
}

function sample({ name, kind, choices, inPath, fallback, source, example }: Field): string {
  if (choices.length > 0) return choices.find((word) => word !== fallback && word !== '*') ?? choices[0]!
  if (kind === 'number') return String(typeof fallback === 'number' ? fallback : 10)
  if (kind === 'switch') return 'true'
  if (name === 'id' || name.endsWith('_id') || name.endsWith('Id')) return '01KAJ8R3T2M6QK5W9V0XBZC4DE'
  if (name === 'email') return 'ada@example.com'
  if (inPath) return kebabWord(name)
  const plain = name.replaceAll('_', ' ')
  // JSON text is quoted inside the shell's quotes.
  if (kind === 'json' && !source) return asWord(example === null ? plain : example)
  if (example === null || example === plain) return `"${plain}"`
  if (typeof example === 'string') return /^[\w./:@-]+$/.test(example) ? example : `"${example}"`
  return asWord(example)
}

export const asWord = (value: unknown): string => `'${JSON.stringify(value).replaceAll("'", `'\\''`)}'`

const kebabWord = (name: string): string => name.replaceAll('_', '-')
