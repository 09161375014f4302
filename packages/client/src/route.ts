/** An endpoint as the client needs it: where each input field is sent and what is returned. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `/chats/{id}`; in `{+id}` slashes stay unescaped. */
  path: string
  answer: 'one' | 'page' | 'results' | 'operation' | 'stream' | 'bytes' | 'deleted' | 'none'
  /** Fields sent in the query. */
  query?: readonly string[]
  /** Fields sent as headers: `upload_offset` as `Upload-Offset`. */
  headers?: readonly string[]
  /** Binary parts of a form. */
  files?: readonly string[]
  /** The content type of a binary body, passed as `bytes`. */
  bytes?: string
}
/** By area and verb. */
export type Routes = Readonly<Record<string, Readonly<Record<string, Route>>>>

/** Bytes to send. A `File` provides its own name. */
export type Bytes = Blob | Uint8Array<ArrayBuffer> | ArrayBuffer
export type Input = Readonly<Record<string, unknown>>

type Body = NonNullable<RequestInit['body']>

export interface Outgoing {
  path: string
  headers: Record<string, string>
  body: Body | null
  /** Whether the body can be sent again. */
  repeatable: boolean
}

const isBytes = (value: unknown): value is Bytes =>
  value instanceof Blob || value instanceof ArrayBuffer || ArrayBuffer.isView(value)

/** Maps flat input to path, query, headers and body. */
export function outgoing(route: Route, input: Input): Outgoing {
  const left = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const take = (name: string): unknown => {
    const value = left.get(name)
    left.delete(name)
    return value
  }
  const path = route.path.replace(/\{(\+?)(\w+)\}/g, (_, greedy: string, name: string) => {
    const value = take(name)
    if (value === undefined || value === '') throw new TypeError(`${name} is missing`)
    const words = encodeURIComponent(String(value))
    const said = greedy === '+' ? words.replaceAll('%2F', '/') : words
    // URL parsing removes dot segments, which would lead to another endpoint.
    if (said.split('/').some((word) => word === '.' || word === '..'))
      throw new TypeError(`${name} must not have "." or ".." as a part`)
    return said
  })
  const query = new URLSearchParams()
  for (const name of route.query ?? []) {
    const value = take(name)
    for (const one of value === undefined ? [] : Array.isArray(value) ? (value as unknown[]) : [value])
      query.append(name, textOf(one))
  }
  const headers: Record<string, string> = {}
  for (const name of route.headers ?? []) {
    const value = take(name)
    if (value !== undefined) headers[name.replaceAll('_', '-')] = textOf(value)
  }
  const target = query.size > 0 ? `${path}?${query.toString()}` : path
  if (route.bytes !== undefined && left.has('bytes')) {
    const body = take('bytes') as Body
    headers['content-type'] = route.bytes
    return { path: target, headers, body, repeatable: !(body instanceof ReadableStream) }
  }
  const files = (route.files ?? []).filter((name) => [left.get(name)].flat().some(isBytes))
  if (files.length > 0) return { path: target, headers, body: formOf(left, files), repeatable: true }
  if (left.size === 0) return { path: target, headers, body: null, repeatable: true }
  headers['content-type'] = 'application/json'
  return { path: target, headers, body: JSON.stringify(Object.fromEntries(left)), repeatable: true }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Fields first, then the bytes, because the server streams them. */
function formOf(fields: ReadonlyMap<string, unknown>, files: readonly string[]): FormData {
  const form = new FormData()
  for (const [name, value] of fields) if (!files.includes(name)) form.append(name, textOf(value))
  for (const name of files)
    for (const bytes of [fields.get(name)].flat() as Bytes[]) {
      const blob = bytes instanceof Blob ? bytes : new Blob([bytes])
      form.append(name, blob, blob instanceof File ? blob.name : name)
    }
  return form
}
