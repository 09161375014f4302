import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sql } from 'kysely'
import { keepBlob, readBlob } from '#engine/blobs/keep.ts'
import type { Context, Engine } from '#engine/context.ts'
import type { Bytes } from '#kernel/answers.ts'
import { refuse } from '#kernel/errors.ts'
import { bytesOf } from './download.ts'
import type { FileRow } from './store.ts'

declare module '#engine/postgres/tables.ts' {
  interface Database {
    thumbnails: { sha256: string; pixels: number; thumbnail: string | null }
  }
}

const MOST_BYTES = 64 << 20
const MOST_MS = 15_000
const AT_ONCE = 2
/** A page of pictures asks for some dozens. */
const MOST_WAITING = 100
/** Raster pictures only: an SVG is a document that can do things. */
const pictures = /^image\/(png|jpeg|gif|webp|avif|tiff|heic|heif)$/

/** A small picture of a picture, made once per content and size. */
export async function thumbnailOf(ctx: Context, row: FileRow, pixels: number): Promise<Bytes> {
  const { sha256, mime_type } = row
  if (sha256 === null || !pictures.test(mime_type ?? '') || Number(row.size_bytes) > MOST_BYTES) return none()
  const known = await ctx.db
    .selectFrom('thumbnails')
    .select('thumbnail')
    .where('sha256', '=', sha256)
    .where('pixels', '=', pixels)
    .executeTakeFirst()
  const thumbnail = known === undefined ? await make(ctx, sha256, pixels) : known.thumbnail
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
    message: 'There is no small picture of this file: it is no picture that can be read.',
  })

/** What is being made or waits for it, by content and size: who asks for the same waits for the same. */
interface Queue {
  running: number
  waiting: { one: Making; go: () => void }[]
  making: Map<string, Making>
}
interface Making {
  askers: number
  made: Promise<string | null> | null
}
const queues = new WeakMap<Engine, Queue>()

async function make(ctx: Context, sha256: string, pixels: number): Promise<string | null> {
  const queue = queues.get(ctx.engine) ?? { running: 0, waiting: [], making: new Map() }
  queues.set(ctx.engine, queue)
  const key = `${sha256} ${pixels}`
  const one = queue.making.get(key) ?? { askers: 0, made: null }
  if (one.made === null && queue.waiting.length >= MOST_WAITING)
    refuse('unavailable', { message: 'Too many small pictures wait to be made. Ask again soon.' })
  const { signal } = ctx
  signal.throwIfAborted()
  one.askers += 1
  queue.making.set(key, one)
  one.made ??= inTurn(queue, ctx, one, sha256, pixels).finally(() => {
    if (queue.making.get(key) === one) queue.making.delete(key)
  })
  const { promise: left, reject } = Promise.withResolvers<never>()
  const leave = () => {
    one.askers -= 1
    if (one.askers === 0) {
      // Nobody waits for it any more: it is not begun, and who asks from now on asks anew.
      queue.making.delete(key)
      queue.waiting = queue.waiting.filter((waiting) => waiting.one !== one)
    }
    reject(signal.reason as Error)
  }
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([one.made, left])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

async function inTurn(queue: Queue, ctx: Context, one: Making, sha256: string, pixels: number): Promise<string | null> {
  if (queue.running >= AT_ONCE) await new Promise<void>((go) => queue.waiting.push({ one, go }))
  queue.running += 1
  try {
    const bytes = await drawn(ctx, sha256, pixels)
    if (bytes === null) return await remember(ctx, sha256, pixels, null)
    const staged = await ctx.engine.blobs.stage(Readable.from([bytes]))
    return await ctx.transaction(async (ctx) => {
      await keepBlob(ctx, staged)
      return remember(ctx, sha256, pixels, staged.sha256)
    })
  } finally {
    queue.running -= 1
    queue.waiting.shift()?.go()
  }
}

async function remember(
  ctx: Context,
  sha256: string,
  pixels: number,
  thumbnail: string | null,
): Promise<string | null> {
  await ctx.db
    .insertInto('thumbnails')
    .values({ sha256, pixels, thumbnail })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return thumbnail
}

/** Null for what is no picture after all, takes too long, or breaks the process that reads it. */
async function drawn(ctx: Context, sha256: string, pixels: number): Promise<Buffer | null> {
  const child = spawn(
    process.execPath,
    ['--max-old-space-size=256', join(import.meta.dirname, 'thumbnail-child.ts'), String(pixels)],
    // Nothing of our environment: what reads a stranger's bytes has no use for our secrets.
    { stdio: ['pipe', 'pipe', 'pipe'], env: { PATH: process.env.PATH }, timeout: MOST_MS, killSignal: 'SIGKILL' },
  )
  const said: Buffer[] = []
  const parts: Buffer[] = []
  child.stdout.on('data', (part: Buffer) => parts.push(part))
  child.stderr.on('data', (part: Buffer) => said.length < 20 && said.push(part))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve).once('error', () => resolve(null)))
  await pipeline(readBlob(ctx.engine, sha256), child.stdin).catch(() => {})
  const words = () => Buffer.concat(said).toString()
  if ((await ended) === 0 && parts.length > 0) return Buffer.concat(parts)
  if (/Cannot find (package|module)|Could not load the "sharp"/.test(words()))
    refuse('unavailable', { message: 'Small pictures need `sharp`, which is not installed here.' })
  ctx.log.debug({ sha256, words: words().slice(0, 300) }, 'a small picture could not be made')
  return null
}

/** Small pictures of what is gone go as well. */
export async function forgetThumbnails({ postgres: { db } }: Pick<Engine, 'postgres'>): Promise<void> {
  await sql`delete from thumbnails t where not exists (select from blobs b where b.sha256 = t.sha256)`.execute(db)
}
