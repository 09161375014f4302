import type { AnyEndpoint } from '#core/contract.ts'
import { kindOf } from '../server/names.ts'
import type { Field } from '../input/fields.ts'

const plain = { text: 'text', time: 'time', day: 'day', number: 'number', list: 'item', json: 'json' } as const

const words: Readonly<Record<string, string>> = {
  email: 'address',
  url: 'url',
  origin: 'url',
  model: 'model',
  cursor: 'cursor',
  schedule: 'schedule',
  zone: 'zone',
  locale: 'locale',
  pattern: 'pattern',
  scopes: 'scope',
}

export function placeholderOf(endpoint: AnyEndpoint, field: Field): string {
  const { name, kind, source, several, ofThings } = field
  if (source || several) return 'file'
  if (ofThings) return 'json'
  const referencedKind = kind === 'text' ? kindOf(endpoint, name) : undefined
  if (referencedKind === 'file') return 'path or ID'
  if (referencedKind === 'member') return 'email or ID'
  if (referencedKind !== undefined) return 'name or ID'
  if (kind === 'text' && /(^id|_id|Id)$/.test(name)) return 'id'
  const word = words[name.split('_').at(-1)!]
  if (word !== undefined && (kind === 'text' || kind === 'list')) return word
  return kind === 'switch' ? 'true|false' : plain[kind]
}
