import { createHash } from 'node:crypto'
import type { StagedBlob } from '#infra/blobs/blobs.ts'
import type { Context, Engine } from '#infra/context.ts'
import { Refusal, type RefusalMore, refuse } from '#core/errors.ts'
import { type Id, newId, parseId } from '#core/ids.ts'
import { type Target, targetOf } from '../tree/locate.ts'
import { checkName } from '../tree/names/names.ts'
import { checkRoom } from '../bytes/storage.ts'
import { checkVersion, checksumIn, metadataIn, tusHeaders } from './tus.ts'
import { checkKept, checkLength, upload } from './locate-upload.ts'
import { type UploadRow, uploadStore } from './upload-store.ts'
import { type OnConflict, checkFree, putFile, staging } from '../tree/write.ts'

const KEPT_MS = 24 * 3_600_000
/** The number of bytes of one sender buffered before they are stored. */
const PART_BYTES = 8 << 20
const MAX_OPEN = 1_000

export interface Begin {
  tus_resumable?: string | undefined
  upload_length?: number | undefined
  upload_defer_length?: string | undefined
  upload_metadata?: string | undefined
}

/** Creates an upload. An empty file is complete immediately. */
export async function begin(ctx: Context, request: Begin): Promise<UploadRow> {
  checkVersion(request.tus_resumable)
  const length = request.upload_length ?? null
  if (length === null && request.upload_defer_length !== '1')
    refuse('missing_parameter', {
      param: 'Upload-Length',
      message: 'Send `Upload-Length`, or `Upload-Defer-Length: 1`.',
    })
  const about = metadataIn(request.upload_metadata)
  const ids = { workspace_id: idIn(about, 'workspace_id'), parent_id: idIn(about, 'parent_id') }
  const target = await targetOf(ctx, ids)
  const nameKey = about.has('name') ? 'name' : 'filename'
  const name = checkName(about.get(nameKey) ?? 'file', nameKey)
  const onConflict = conflictIn(about)
  checkLength(ctx, length ?? 0)
  if (onConflict === 'fail') await checkFree(ctx, target, name)
  await checkRoom(ctx, target.workspaceId, length ?? 1, 'now')
  if ((await uploadStore.open(ctx.db, ctx.principal.accountId)) >= MAX_OPEN)
    refuse('limit_reached', {
      message: `You can have up to ${MAX_OPEN} unfinished uploads. Finish or cancel some first.`,
      details: { limit: MAX_OPEN },
    })
  const row = await uploadStore.insert(ctx.db, {
    id: newId(),
    account_id: ctx.principal.accountId,
    workspace_id: target.workspaceId,
    parent_id: target.folder?.id ?? null,
    name,
    mime_type: about.get('mime_type') ?? about.get('filetype') ?? null,
    on_conflict: onConflict,
    length_bytes: length === null ? null : BigInt(length),
    metadata: request.upload_metadata ?? null,
    expires_at: new Date(ctx.now().getTime() + KEPT_MS),
  })
  if (length === 0) await finish(ctx, row, 0, null)
  return row
}

function idIn(about: Map<string, string>, key: string): Id | undefined {
  const words = about.get(key)
  if (words === undefined || words === '') return undefined
  return (
    parseId(words) ??
    refuse('invalid_parameter', { param: `Upload-Metadata.${key}`, message: `\`${key}\` must be an ID.` })
  )
}

function conflictIn(about: Map<string, string>): OnConflict {
  const words = about.get('on_conflict') ?? 'fail'
  if (words === 'fail' || words === 'rename' || words === 'version') return words
  return refuse('invalid_parameter', {
    param: 'Upload-Metadata.on_conflict',
    message: '`on_conflict` must be `fail`, `rename` or `version`.',
  })
}

export interface Append {
  tus_resumable?: string | undefined
  upload_offset?: number | undefined
  upload_length?: number | undefined
  upload_checksum?: string | undefined
}

/**
 * Appends bytes and returns the new offset. Bytes of an interrupted request are kept, except under a checksum. The
 * last bytes and the file are committed together.
 */
export async function append(ctx: Context, request: Append): Promise<{ offset: number; fileId: Id | null }> {
  checkVersion(request.tus_resumable)
  const row = upload.of(ctx)
  if (ctx.upload?.mimeType !== 'application/offset+octet-stream')
    refuse('unsupported_media_type', { message: 'Send the bytes as `application/offset+octet-stream`.' })
  checkKept(row)
  const start = request.upload_offset
  if (start === undefined)
    return refuse('missing_parameter', { param: 'Upload-Offset', message: '`Upload-Offset` is required.' })
  if (start !== Number(row.offset_bytes)) mismatch(Number(row.offset_bytes))
  if (row.file_id !== null) return { offset: start, fileId: row.file_id }
  const length = await lengthOf(ctx, row, request.upload_length)
  const checksum = checksumIn(request.upload_checksum)
  const hash = checksum && createHash(checksum.algorithm)
  const pending: { start: number; staged: StagedBlob }[] = []
  let at = start
  const commit = async (): Promise<void> => {
    for (const { start, staged } of pending.splice(0)) await keepPart(ctx, row, start, staged)
  }
  try {
    for await (const { bytes, left } of cutUp(ctx.upload.bytes)) {
      hash?.update(bytes)
      if (length !== null && at + bytes.length > length)
        refuse('payload_too_large', { message: `\`Upload-Length\` is ${length}, but more bytes were sent.` })
      checkLength(ctx, at + bytes.length)
      if (bytes.length > 0) pending.push({ start: at, staged: await ctx.engine.blobs.stage(once(bytes)) })
      at += bytes.length
      if (checksum === null && at !== length) await commit()
      // The error that interrupted the body, rethrown once its bytes are stored.
      if (left !== null) throw left
    }
    if (hash && checksum && !hash.digest().equals(checksum.digest))
      refuse('checksum_mismatch', { param: 'Upload-Checksum', headers: { 'upload-offset': String(start) } })
    if (at !== length) {
      await commit()
      return await wholeMeanwhile(ctx, row, at)
    }
    const last = pending.pop() ?? null
    await commit()
    return { offset: at, fileId: await finish(ctx, row, last?.start ?? at, last?.staged ?? null) }
  } finally {
    for (const { staged } of pending) await staged.discard()
  }
}

/** One sender may have set the length while another sent the last bytes. */
async function wholeMeanwhile(
  ctx: Context,
  row: UploadRow,
  at: number,
): Promise<{ offset: number; fileId: Id | null }> {
  if (row.length_bytes !== null) return { offset: at, fileId: null }
  const now = await uploadStore.get(ctx.db, row.id)
  if (now === undefined || now.file_id !== null || now.length_bytes !== now.offset_bytes)
    return { offset: at, fileId: now?.file_id ?? null }
  const offset = Number(now.offset_bytes)
  return { offset, fileId: await finish(ctx, row, offset, null) }
}

async function lengthOf(ctx: Context, row: UploadRow, requested: number | undefined): Promise<number | null> {
  const stored = row.length_bytes === null ? null : Number(row.length_bytes)
  if (requested === undefined) return stored
  checkLength(ctx, requested)
  const length = stored ?? (await uploadStore.setLength(ctx.db, row.id, requested))
  if (length === requested) return requested
  return refuse('invalid_parameter', {
    param: 'Upload-Length',
    message:
      length === null
        ? 'More bytes than that have already been received.'
        : `\`Upload-Length\` was already set to ${length}.`,
  })
}

/**
 * Yields large chunks, each valid until the next is requested. After an interruption the last one has the error in
 * `left`.
 */
async function* cutUp(source: AsyncIterable<Uint8Array>): AsyncGenerator<{ bytes: Buffer; left: unknown }> {
  const part = Buffer.allocUnsafeSlow(PART_BYTES)
  let size = 0
  let left: unknown = null
  try {
    for await (const piece of source)
      for (let at = 0; at < piece.length;) {
        const some = piece.subarray(at, at + PART_BYTES - size)
        part.set(some, size)
        size += some.length
        at += some.length
        if (size < PART_BYTES) continue
        yield { bytes: part, left: null }
        size = 0
      }
  } catch (error) {
    left = error
  }
  yield { bytes: part.subarray(0, size), left }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function keepPart(ctx: Context, row: UploadRow, start: number, staged: StagedBlob): Promise<void> {
  const place = await staged.park()
  try {
    await ctx.transaction(async (ctx) => {
      const expires = new Date(ctx.now().getTime() + KEPT_MS)
      if (!(await uploadStore.advance(ctx.db, row.id, start, staged.size, expires))) await overtaken(ctx, row.id)
      await uploadStore.insertPart(ctx.db, row.id, start, { place, size: staged.size })
    })
  } catch (error) {
    await ctx.engine.blobs.remove(place)
    throw error
  }
}

/** Joins all parts into one file while hashing, and commits its row and the upload's end in one transaction. */
async function finish(ctx: Context, row: UploadRow, start: number, last: StagedBlob | null): Promise<Id> {
  const { id, workspace_id: workspaceId } = row
  const place = last && (await last.park())
  const { blobs } = ctx.engine
  try {
    const target: Target = await targetOf(
      ctx,
      row.parent_id === null ? { workspace_id: workspaceId } : { parent_id: row.parent_id },
    )
    const parts = await uploadStore.parts(ctx.db, id)
    const whole = async function* () {
      for (const part of parts) yield* blobs.read(part.place)
      if (place !== null) yield* blobs.read(place)
    }
    const { name, mime_type: statedType, on_conflict: onConflict } = row
    const { fileId, places } = await staging(ctx, whole(), (staged) =>
      ctx.transaction(async (ctx) => {
        const expires = new Date(ctx.now().getTime() + KEPT_MS)
        const advanced = await uploadStore.advance(ctx.db, id, start, last?.size ?? 0, expires)
        if (!advanced) await overtaken(ctx, id)
        const file = await putFile(ctx, target, { name, onConflict, statedType }, staged)
        return { fileId: file.row.id, places: await uploadStore.becomeFile(ctx.db, id, file.row.id) }
      }),
    )
    for (const one of places) await blobs.remove(one)
    return fileId
  } finally {
    if (place !== null) await blobs.remove(place)
  }
}

async function overtaken(ctx: Context, id: Id): Promise<never> {
  const now = await uploadStore.get(ctx.engine.postgres.db, id)
  return now === undefined ? refuse('not_found', { param: 'id' }) : mismatch(Number(now.offset_bytes))
}

function mismatch(offset: number): never {
  return refuse('stale_update', {
    param: 'Upload-Offset',
    message: `The upload is at offset ${offset}. Get its current offset and continue from there.`,
    details: { offset_bytes: offset },
    headers: { 'upload-offset': String(offset) },
  })
}

export async function terminate(ctx: Context, version: string | undefined): Promise<void> {
  checkVersion(version)
  await drop(ctx.engine, upload.of(ctx).id)
}

async function drop({ postgres, blobs }: Pick<Engine, 'postgres' | 'blobs'>, id: Id): Promise<void> {
  const places = await postgres.db.transaction().execute((db) => uploadStore.delete(db, id))
  for (const place of places ?? []) await blobs.remove(place)
}

export async function expireUploads(engine: Pick<Engine, 'postgres' | 'blobs'>): Promise<void> {
  for (;;) {
    const ids = await uploadStore.expired(engine.postgres.db, 100)
    for (const id of ids) await drop(engine, id)
    if (ids.length < 100) return
  }
}

/** Adds the tus version header to every response, including errors. */
export async function withTusHeaders<T>(ctx: Context, work: () => Promise<T>): Promise<T> {
  Object.assign(ctx.answer.headers, tusHeaders)
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { message, param, details, headers } = error
    const more: RefusalMore = {
      message,
      headers: { ...tusHeaders, ...headers },
      ...(param !== undefined && { param }),
      ...(details !== undefined && { details }),
    }
    throw new Refusal(error.code, more)
  }
}
