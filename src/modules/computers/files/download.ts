import { z } from 'zod'
import type { Context } from '#infra/context.ts'
import type { Bytes } from '#core/answers.ts'
import type { Input } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { safeHeaders } from '#modules/drive/service.ts'
import { Entry, type Input as Asked } from '#daemon-protocol/operations.ts'
import type { fileEndpoints } from '../contract-files.ts'
import { watchPermission } from '../exec/permission.ts'
import type { HasLinks } from '../link/links.ts'
import { lossesOf } from '../link/losses.ts'

type Ctx = Context<HasLinks>
type Read = Asked<'fs.read'>

/** Validated, because daemons are untrusted. */
const Head = z.object({
  type: z.literal('head'),
  entry: Entry,
  etag: z
    .string()
    .max(200)
    .regex(/^[\w.-]+$/)
    .nullable(),
})
type Head = z.output<typeof Head>

const TYPES = { zip: 'application/zip', tar: 'application/x-tar' }

export async function download(ctx: Ctx, { id, path, archive }: Input<typeof fileEndpoints.download>): Promise<Bytes> {
  const fileRequest = { path, offset: 0, length: archive === undefined ? 0 : null, archive: archive ?? null }
  const { entry, etag } = await headOf(ctx, id, fileRequest)
  const name = entry.name.toWellFormed()
  const request: Read = { ...fileRequest, length: null }
  if (archive !== undefined)
    return {
      headers: safeHeaders(TYPES[archive], `${name === '/' ? 'root' : name}.${archive}`, 'attachment'),
      body: { [Symbol.asyncIterator]: () => readToEnd(ctx, id, request) },
    }
  const headers = safeHeaders('application/octet-stream', name, 'attachment')
  // The size of `/proc` files and archives is unknown.
  if (etag === null) return { headers, body: { [Symbol.asyncIterator]: () => readToEnd(ctx, id, request) } }
  return {
    headers,
    body: {
      size: entry.size_bytes,
      etag: `"${etag}"`,
      modifiedAt: new Date(entry.modified_at),
      read: (range) => readFile(ctx, id, path, range, etag),
    },
  }
}

async function headOf(ctx: Ctx, id: Id, request: Read): Promise<Head> {
  const { links } = ctx.engine
  using limit = links.limit(id, ctx.signal, links.limits.answerMs)
  const { signal } = limit
  const losses = lossesOf(links, id, { signal })
  for (;;)
    try {
      const stream = await links.open(id, 'fs.read', request, { signal })
      try {
        for await (const item of stream) return headIn(item.type === 'event' ? item.event : null)
        await stream.output
        return headIn(null)
      } finally {
        stream.reset('only its head was asked for')
      }
    } catch (error) {
      await losses.outlast(error)
    }
}

const headIn = (event: unknown): Head =>
  Head.safeParse(event).data ??
  refuse('upstream_error', { message: 'The computer returned something other than a file.' })

/** Resumes over new links. Fails if the ETag changed. */
async function* readFile(
  ctx: Ctx,
  id: Id,
  path: string,
  { start, end }: { start: number; end: number },
  etag: string,
): AsyncGenerator<Uint8Array> {
  const { links } = ctx.engine
  // Copies to the drive have no other permission check.
  await using permitted = watchPermission(ctx, id, 'fs_read', ctx.signal)
  using limit = links.limit(id, permitted.signal, links.limits.stillMs)
  const { signal } = limit
  const losses = lossesOf(links, id, { signal })
  for (let at = start; ;) {
    try {
      const range = { path, offset: at, length: end - at, archive: null }
      const stream = await links.open(id, 'fs.read', range, { signal })
      try {
        let same = false
        const from = at
        for await (const item of stream) {
          if (item.type === 'event') same = isSame(headIn(item.event), etag)
          if (item.type !== 'bytes') continue
          if (!same || from + item.offset !== at || at + item.bytes.length > end) return refuseOther()
          losses.over()
          at += item.bytes.length
          limit.rest()
          yield item.bytes
          limit.moved()
        }
        await stream.output
        if (at !== end) refuseOther()
        return
      } finally {
        stream.reset('nobody reads on')
      }
    } catch (error) {
      await losses.outlast(error)
    }
  }
}

const isSame = (head: Head, etag: string): boolean =>
  head.etag === etag ||
  refuse('stale_update', { param: 'path', message: 'The file was changed while it was being read.' })

const refuseOther = (): never =>
  refuse('upstream_error', { message: 'The computer sent a different number of bytes than announced.' })

/** Generated on the fly, so a lost connection can't be resumed. */
async function* readToEnd(ctx: Ctx, id: Id, request: Read): AsyncGenerator<Uint8Array> {
  const { links } = ctx.engine
  await using permitted = watchPermission(ctx, id, 'fs_read', ctx.signal)
  using limit = links.limit(id, permitted.signal, links.limits.stillMs)
  try {
    const stream = await links.open(id, 'fs.read', request, { signal: limit.signal })
    try {
      for await (const item of stream) {
        if (item.type !== 'bytes') continue
        limit.rest()
        yield Uint8Array.from(item.bytes)
        limit.moved()
      }
      await stream.output
    } finally {
      stream.reset('nobody reads on')
    }
  } catch (error) {
    throw limit.reasonFor(error)
  }
}
