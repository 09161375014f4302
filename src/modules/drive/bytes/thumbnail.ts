import { Readable } from 'node:stream'
import { sql } from 'kysely'
import { keepBlob, wholeBlob } from '#infra/blobs/keep.ts'
import { Busy } from '#packages/fair-queue/turns.ts'
import type { Context, Engine } from '#infra/context.ts'
import type { Bytes } from '#core/answers.ts'
import { refuse } from '#core/errors.ts'
import { bytesOf } from './download.ts'
import type { FileRow } from '../store.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    thumbnails: { sha256: string; pixels: number; thumbnail: string | null; maker: number }
  }
}

const MAX_BYTES = 64 << 20
/** Increase when thumbnails become possible for further formats. */
const MAKER = 1
/** Raster images only, since an SVG can run scripts. */
const pictures = /^image\/(png|jpeg|gif|webp|avif|tiff|heic|heif)$/

export async function thumbnailOf(ctx: Context<HasThumbnails>, row: FileRow, pixels: number): Promise<Bytes> {
  const { sha256, mime_type } = row
  if (sha256 === null || !pictures.test(mime_type ?? '') || Number(row.size_bytes) > MAX_BYTES) return none()
  const cached = await ctx.db
    .selectFrom('thumbnails')
    .select('thumbnail')
    .where('sha256', '=', sha256)
    .where('pixels', '=', pixels)
    .where((of) => of.or([of('thumbnail', 'is not', null), of('maker', '=', MAKER)]))
    .executeTakeFirst()
  const thumbnail = cached === undefined ? await make(ctx, sha256, pixels) : cached.thumbnail
  if (thumbnail === null) return none()
  const { size_bytes } = await ctx.db
    .selectFrom('blobs')
    .select('size_bytes')
    .where('sha256', '=', thumbnail)
    .executeTakeFirstOrThrow()
  const small = { name: `${row.name}.webp`, sha256: thumbnail, size_bytes, mime_type: 'image/webp' }
  return bytesOf(ctx.engine, { ...small, content_updated_at: row.content_updated_at })
}

const none = (): never =>
  refuse('unsupported_media_type', {
    message: 'This file has no thumbnail because it isn’t a readable image.',
  })

/** Thumbnails in progress or queued, by account, content and size. Equal requests share one. */
export type Thumbnails = Map<string, Making>
export const createThumbnails = (): Thumbnails => new Map()
export interface HasThumbnails {
  thumbnails: Thumbnails
}
interface Making {
  askers: number
  made: Promise<string | null>
  /** Aborted when no caller waits any longer, before work has started. */
  left: AbortController
}

async function make(ctx: Context<HasThumbnails>, sha256: string, pixels: number): Promise<string | null> {
  const { signal } = ctx
  const { thumbnails } = ctx.engine
  signal.throwIfAborted()
  const key = `${ctx.principal.accountId} ${sha256} ${pixels}`
  const one = thumbnails.get(key) ?? begin(ctx, sha256, pixels)
  thumbnails.set(key, one)
  one.askers += 1
  const forget = (): void => {
    if (thumbnails.get(key) === one) thumbnails.delete(key)
  }
  const { promise: disconnection, reject } = Promise.withResolvers<never>()
  const leave = () => {
    one.askers -= 1
    if (one.askers === 0) {
      forget()
      one.left.abort(signal.reason)
    }
    reject(signal.reason as Error)
  }
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([one.made.finally(forget), disconnection])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

function begin(ctx: Context, sha256: string, pixels: number): Making {
  const abandonment = new AbortController()
  const result = draw(ctx, sha256, pixels, abandonment.signal).then(async (bytes) => {
    if (bytes === null) return remember(ctx, sha256, pixels, null)
    const staged = await ctx.engine.blobs.stage(Readable.from([bytes]))
    return ctx.transaction(async (ctx) => {
      await keepBlob(ctx, staged)
      return remember(ctx, sha256, pixels, staged.sha256)
    })
  })
  return { askers: 0, made: result, left: abandonment }
}

async function remember(
  ctx: Context,
  sha256: string,
  pixels: number,
  thumbnail: string | null,
): Promise<string | null> {
  await ctx.db
    .insertInto('thumbnails')
    .values({ sha256, pixels, thumbnail, maker: MAKER })
    .onConflict((conflict) =>
      conflict
        .columns(['sha256', 'pixels'])
        .doUpdateSet({ thumbnail, maker: MAKER })
        .where('thumbnails.thumbnail', 'is', null),
    )
    .execute()
  return thumbnail
}

/** Null if it isn't an image, takes too long, or crashes the decoder process. */
async function draw(ctx: Context, sha256: string, pixels: number, signal: AbortSignal): Promise<Uint8Array | null> {
  const load = async () => ({ bytes: await wholeBlob(ctx.engine, sha256), pixels })
  const outcome = await ctx.engine.pictures.draw(ctx.principal.accountId, load, signal).catch((error: unknown) => {
    if (!(error instanceof Busy)) throw error
    return refuse('unavailable', { message: 'Too many thumbnails are being created. Try again in a few seconds.' })
  })
  if ('lost' in outcome) {
    if (outcome.lost === 'unsent')
      return refuse('unavailable', { message: 'Thumbnails can’t be created right now. Try again later.' })
    ctx.log.debug({ sha256, lost: outcome.lost }, 'a small picture could not be made')
    return null
  }
  const { said } = outcome
  if ('bytes' in said) return said.bytes
  if ('missing' in said)
    return refuse('unavailable', { message: 'Thumbnails require `sharp`, which isn’t installed on the server.' })
  ctx.log.debug({ sha256, words: said.none }, 'a small picture could not be made')
  return null
}

export async function forgetThumbnails({ postgres: { db } }: Pick<Engine, 'postgres'>): Promise<void> {
  await sql`delete from thumbnails t where not exists (select from blobs b where b.sha256 = t.sha256)`.execute(db)
}
