import type { Tried } from '#interfaces/docs/browser/try-it.js'
import type { Field, Operation } from './operations.ts'

/** Form values by field name; empty fields are omitted from the request. */
export type Draft = Readonly<Record<string, string>>

const keyOf = ({ place, name }: Field): string => `${place} ${name}`

export const draftOf = ({ fields }: Operation): Draft =>
  Object.fromEntries(fields.filter(({ example }) => example !== '').map((field) => [keyOf(field), field.example]))

export const typedIn = (draft: Draft, field: Field): string => draft[keyOf(field)] ?? ''
export const withTyped = (draft: Draft, field: Field, value: string): Draft => ({ ...draft, [keyOf(field)]: value })

/** Parses a value. Throws a SyntaxError that names the field if the JSON is invalid. */
export function valueOf({ kind, name }: Field, text: string): unknown {
  if (kind === 'switch') return text === 'true'
  // Invalid numbers are sent unchanged, so that the server's error explains what is allowed.
  if (kind === 'number') return Number.isFinite(Number(text)) ? Number(text) : text
  if (kind !== 'json') return text
  try {
    return JSON.parse(text)
  } catch (error) {
    // Plain words are strings; anything that starts like JSON must be valid JSON.
    if (!/^[\s]*[[{"]/.test(text)) return text
    throw new SyntaxError(`${name} isn’t valid JSON: ${(error as Error).message}`)
  }
}

export interface FilledRequest extends Tried {
  params: Record<string, string>
  query: [string, string][]
  json: Record<string, unknown> | undefined
}

/** Builds the request of a form. Throws like `valueOf`. */
export function filled(operation: Operation, draft: Draft, file: File | null, key: string | null): FilledRequest {
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
    // Model names in a trailing path parameter keep their slashes.
    greedy: path.endsWith(':id') && path.includes('/models/'),
  }
}
