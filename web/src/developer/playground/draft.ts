import type { Tried } from '#interfaces/docs/browser/try-it.js'
import type { Field, Operation } from './operations.ts'

/** The values typed into a form, by the name of the field; empty fields are left out of the call. */
export type Draft = Readonly<Record<string, string>>

const keyOf = ({ place, name }: Field): string => `${place} ${name}`

export const draftOf = ({ fields }: Operation): Draft =>
  Object.fromEntries(fields.filter(({ example }) => example !== '').map((field) => [keyOf(field), field.example]))

export const typedIn = (draft: Draft, field: Field): string => draft[keyOf(field)] ?? ''
export const withTyped = (draft: Draft, field: Field, value: string): Draft => ({ ...draft, [keyOf(field)]: value })

/** The value as JSON has it. Throws a SyntaxError that names the field where it is not what the field takes. */
export function valueOf({ kind, name }: Field, text: string): unknown {
  if (kind === 'switch') return text === 'true'
  // What is not a number goes as it was typed: the server says what would be right.
  if (kind === 'number') return Number.isFinite(Number(text)) ? Number(text) : text
  if (kind !== 'json') return text
  try {
    return JSON.parse(text)
  } catch (error) {
    // A plain word is meant as one; anything that begins like JSON is to be JSON.
    if (!/^[\s]*[[{"]/.test(text)) return text
    throw new SyntaxError(`${name} is not JSON: ${(error as Error).message}`)
  }
}

export interface Filled extends Tried {
  params: Record<string, string>
  query: [string, string][]
  json: Record<string, unknown> | undefined
}

/** The call that a form asks for. Throws what `valueOf` throws. */
export function filled(operation: Operation, draft: Draft, file: File | null, key: string | null): Filled {
  const { method, path, fields, filePart } = operation
  const typed = fields.flatMap((field) => {
    const text = typedIn(draft, field)
    return text === '' ? [] : [{ field, text }]
  })
  const body = typed.filter(({ field }) => field.place === 'body')
  const takesBody = fields.some(({ place }) => place === 'body')
  return {
    method,
    path,
    params: Object.fromEntries(
      typed.filter(({ field }) => field.place === 'path').map(({ field, text }) => [field.name, text]),
    ),
    query: typed.filter(({ field }) => field.place === 'query').map(({ field, text }) => [field.name, text]),
    json: takesBody ? Object.fromEntries(body.map(({ field, text }) => [field.name, valueOf(field, text)])) : undefined,
    file,
    part: filePart ?? 'file',
    key,
    // Of a path's last parameter that names a model, slashes are its own.
    greedy: path.endsWith(':id') && path.includes('/models/'),
  }
}
