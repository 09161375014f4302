import type { Context } from '#infra/context.ts'
import { resourceTypeOf } from '#core/access.ts'
import { type Bytes, isStored } from '#core/answers.ts'
import { pathNames } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import type { Entry } from '#core/registry.ts'
import { envelope, etagOf, names } from './reply.ts'
import type { Versions } from '../version.ts'

/** Throws 412 if `If-Match` doesn't match; otherwise the store only changes the state the caller saw. */
export type CheckIfMatch = (
  ctx: Context,
  entry: Entry<Context>,
  input: Record<string, unknown>,
  header: string,
) => Promise<void>

interface State {
  etag: string
  updatedAt: string | null
}

/**
 * `If-Match` (RFC 9110, 13.1.1), compared with the entity tag of a GET of the same path or, for actions, of the parent
 * path: `/chats/:id/archive` changes `/chats/:id`.
 */
export function createIfMatch(entries: Iterable<Entry<Context>>, versions: Versions): CheckIfMatch {
  const readers = new Map<string, Entry<Context>[]>()
  for (const entry of entries) {
    const { method, path, reply } = entry.endpoint
    if (method !== 'GET' || (reply.kind !== 'one' && reply.kind !== 'bytes') || entry.emptyQuery === null) continue
    // A file's bytes have their own path; its metadata another.
    const at = path.replace(/\/metadata$/, '')
    readers.set(at, [...(readers.get(at) ?? []), entry])
  }

  async function stateOf(
    ctx: Context,
    { endpoint, handle, name }: Entry<Context>,
    input: Record<string, unknown>,
  ): Promise<State | null> {
    if (endpoint.reply.kind === 'bytes') {
      const bytes = (await Promise.try(handle, { ...ctx }, input).catch(() => null)) as Bytes | null
      return bytes !== null && isStored(bytes.body) ? { etag: bytes.body.etag, updatedAt: null } : null
    }
    const present = (await handle({ ...ctx }, input)) as { updated_at?: string }
    const body = JSON.stringify(versions.lower(ctx.version, name, envelope(endpoint.reply, present, input)))
    return { etag: etagOf(body), updatedAt: present.updated_at ?? null }
  }

  async function statesOf(
    ctx: Context,
    { endpoint }: Entry<Context>,
    input: Record<string, unknown>,
  ): Promise<{ path: string; states: State[] } | null> {
    const type = resourceTypeOf(endpoint.access)
    for (let path: string = endpoint.path; path !== ''; path = path.slice(0, path.lastIndexOf('/'))) {
      const at = (readers.get(path) ?? []).filter((reader) => resourceTypeOf(reader.endpoint.access) === type)
      // Only path parameters: an action's other parameters may mean something else.
      const pathInput = Object.fromEntries(pathNames(path).map((name) => [name, input[name]]))
      const inputFor = (reader: Entry<Context>) =>
        endpoint.method === 'GET' ? input : { ...reader.emptyQuery, ...pathInput }
      const readerStates = await Promise.all(at.map((reader) => stateOf(ctx, reader, inputFor(reader))))
      const states = readerStates.filter((state) => state !== null)
      if (states.length > 0) return { path, states }
    }
    return null
  }

  return async (ctx, entry, input, header) => {
    const { method, reply } = entry.endpoint
    // Byte responses check it when they are sent.
    if (method === 'GET' && reply.kind === 'bytes') return
    const present = await statesOf(ctx, entry, input)
    if (present === null)
      return refuse('precondition_failed', {
        message: 'This resource has no ETag. Send the request without `If-Match`.',
      })
    const state = present.states.find(({ etag }) => names(header, etag, 'strongly'))
    if (!state) return refuse('precondition_failed')
    // The loaded resource says nothing about nested ones.
    if (pathNames(present.path).length > 1) return
    if (ctx.resource !== null) ctx.unchangedSince = ctx.resource.updated_at
    else if (state.updatedAt !== null) ctx.unchangedSince = new Date(state.updatedAt)
  }
}
