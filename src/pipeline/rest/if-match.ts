import type { Context } from '#infra/context.ts'
import { type Bytes, isStored } from '#core/answers.ts'
import { pathNames } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import type { Entry } from '#core/registry.ts'
import { envelope, etagOf, names } from './reply.ts'
import type { Versions } from '../version.ts'

/** Refuses with 412 what `If-Match` forbids; else the store changes only the state that the caller saw. */
export type CheckIfMatch = (
  ctx: Context,
  entry: Entry<Context>,
  input: Record<string, unknown>,
  header: string,
) => Promise<void>

/** The state of a resource, as a GET answers it now. */
interface State {
  etag: string
  updatedAt: string | null
}

/**
 * `If-Match` (RFC 9110, 13.1.1), held against the tag of what the path names: of a GET of the same path, or, where an
 * action has none, of the path that it hangs on: archiving `/chats/:id/archive` is a change of `/chats/:id`.
 */
export function createIfMatch(entries: Iterable<Entry<Context>>, versions: Versions): CheckIfMatch {
  const readers = new Map<string, Entry<Context>[]>()
  for (const entry of entries) {
    const { method, path, reply } = entry.endpoint
    if (method !== 'GET' || (reply.kind !== 'one' && reply.kind !== 'bytes') || entry.emptyQuery === null) continue
    // Of a file bytes are read at its path, and what is known of it beside that.
    const at = path.replace(/\/metadata$/, '')
    readers.set(at, [...(readers.get(at) ?? []), entry])
  }

  /** The state that this GET answers now; null where its answer has no entity tag. */
  async function stateOf(
    ctx: Context,
    { endpoint, handle, name }: Entry<Context>,
    input: Record<string, unknown>,
  ): Promise<State | null> {
    if (endpoint.reply.kind === 'bytes') {
      // A folder has no bytes; what is known of it has a tag all the same.
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
    for (let path: string = endpoint.path; path !== ''; path = path.slice(0, path.lastIndexOf('/'))) {
      const at = (readers.get(path) ?? []).filter((reader) => reader.endpoint.on === endpoint.on)
      // Only what the path names: a parameter of the same name may mean something else to the action.
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
    // Bytes hold it against themselves where they are sent.
    if (method === 'GET' && reply.kind === 'bytes') return
    const present = await statesOf(ctx, entry, input)
    if (present === null)
      return refuse('precondition_failed', {
        message: 'This resource has no ETag. Send the request without `If-Match`.',
      })
    const state = present.states.find(({ etag }) => names(header, etag, 'strongly'))
    if (!state) return refuse('precondition_failed')
    // Of what stands below it in the path, the resource that was found tells nothing.
    if (pathNames(present.path).length > 1) return
    if (ctx.resource !== null) ctx.unchangedSince = ctx.resource.updated_at
    else if (state.updatedAt !== null) ctx.unchangedSince = new Date(state.updatedAt)
  }
}
