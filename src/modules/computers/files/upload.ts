import { hash } from 'node:crypto'
import type { Context } from '#infra/context.ts'
import { type Bytes, isStored } from '#core/answers.ts'
import type { Upload } from '#core/context.ts'
import type { Input } from '#core/contract.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { fileEndpoints } from '../contract-files.ts'
import type { HasLinks } from '../link/links.ts'
import { parseContentRange } from './content-range.ts'
import { showEntry } from './fs.ts'
import { dropUpload, keepUpload } from './drop-upload.ts'
import { type Sending, sendFile } from './send-file.ts'
import { checkDisk } from '../drivers/check-disk.ts'

type Ctx = Context<HasLinks>
type UploadInput = Input<typeof fileEndpoints.upload>

/** Lets a caller resume through any server process. */
const keyOf = (...parts: string[]): string => hash('sha256', parts.join('\0'), 'hex')

const keyOfCaller = (ctx: Ctx, path: string, tag: string | undefined): string =>
  keyOf(ctx.principal.accountId, path, ...(tag === undefined ? [] : ['tag', tag]))

export async function upload(ctx: Ctx, input: UploadInput) {
  const { path } = input
  if (path === undefined) return refuse('missing_parameter', { param: 'path', message: '`path` is required.' })
  if (ctx.upload !== null) {
    if (input.drive_source !== undefined) refuse('invalid_parameter', { param: 'drive_source' })
    return fromCaller(ctx, { ...input, path }, ctx.upload)
  }
  if (input.drive_source === undefined)
    return refuse('missing_parameter', {
      param: 'drive_source',
      message: 'Send the bytes with `path` in the query, or use `drive_source`.',
    })
  return fromDrive(ctx, { ...input, path }, input.drive_source.file_id)
}

async function fromCaller(
  ctx: Ctx,
  { id, path, overwrite = false, mode, modified_at, tag, content_range }: UploadInput & { path: string },
  { bytes, size: length }: Upload,
) {
  const about = { mode: mode ?? null, modified_at: modified_at ?? null }
  const { start, end, size } = parseContentRange(content_range, length)
  const complete = end === null || end === size
  if (size !== null) await checkDisk(ctx, id, size - start)
  const key = keyOfCaller(ctx, path, tag)
  await keepUpload(ctx, { computer_id: id, path, key })
  const { offset, entry } = await sendOrDrop(ctx, {
    links: ctx.engine.links,
    computerId: id,
    file: { path, key, overwrite, offset: start, size, complete, ...about },
    source: end === null ? bytes : checkedBytes(bytes, end - start),
    signal: ctx.signal,
  })
  if (entry !== null) return showEntry(entry)
  ctx.answer.status = 202
  ctx.answer.headers['upload-offset'] = String(offset)
  return { path, offset }
}

/** After lost permission, the bytes that arrived are removed to prevent a resume. */
async function sendOrDrop(ctx: Ctx, sending: Sending): ReturnType<typeof sendFile> {
  let fault: unknown
  async function* readSource(): AsyncGenerator<Uint8Array> {
    try {
      yield* sending.source
    } catch (error) {
      fault = error
      throw error
    }
  }
  try {
    return await sendFile({ ...sending, source: readSource() })
  } catch (error) {
    // The computer's refusals may share the code; it then removes the part.
    const why = ctx.signal.aborted ? (ctx.signal.reason as unknown) : fault
    const { computerId: computer_id, file } = sending
    if (why instanceof Refusal && RIGHT_LOST.has(why.code))
      await dropUpload(ctx, { computer_id, path: file.path, key: file.key })
    throw error
  }
}
/** Senders with an expired session or key may resume. */
const RIGHT_LOST: ReadonlySet<string> = new Set([
  'capability_denied',
  'insufficient_role',
  'missing_scope',
  'not_found',
  'policy_denied',
  'revoked_api_key',
])

async function* checkedBytes(bytes: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let remainingBytes = size
  for await (const part of bytes) {
    remainingBytes -= part.length
    if (remainingBytes < 0) break
    yield part
  }
  if (remainingBytes !== 0)
    refuse('invalid_parameter', {
      param: 'Content-Range',
      message: `\`Content-Range\` declares ${size} bytes, but ${remainingBytes < 0 ? 'more' : size - remainingBytes} were sent.`,
    })
}

async function fromDrive(
  ctx: Ctx,
  { id, path, overwrite = false, mode, modified_at }: UploadInput & { path: string },
  fileId: Id,
) {
  const about = { mode: mode ?? null, modified_at: modified_at ?? null }
  const { body } = (await ctx.invoke('drive.download', { id: fileId })) as Bytes
  if (!isStored(body)) return refuse('invalid_state', { param: 'drive_source' })
  const { links } = ctx.engine
  // Content-addressed, so bytes sent before a server restart aren't sent again.
  const key = keyOf(ctx.principal.accountId, path, body.etag)
  await keepUpload(ctx, { computer_id: id, path, key })
  const { offset } = await links.ask(id, 'fs.upload_offset', { path, key }, { signal: ctx.signal })
  const from = offset <= body.size ? offset : 0
  await checkDisk(ctx, id, body.size - from)
  const { entry } = await sendOrDrop(ctx, {
    links,
    computerId: id,
    file: { path, key, overwrite, offset: from, size: body.size, complete: true, ...about },
    source: body.read({ start: from, end: body.size }),
    signal: ctx.signal,
  })
  return entry === null
    ? refuse('upstream_error', {
        message: 'The computer didn’t confirm the upload. Check whether the file exists before you try again.',
      })
    : showEntry(entry)
}

export async function uploadOffset(ctx: Ctx, { id, path, tag }: Input<typeof fileEndpoints.upload_offset>) {
  const key = keyOfCaller(ctx, path, tag)
  const { offset } = await ctx.engine.links.ask(id, 'fs.upload_offset', { path, key }, { signal: ctx.signal })
  ctx.answer.headers['upload-offset'] = String(offset)
  ctx.answer.headers['cache-control'] = 'no-store'
  return { path, offset }
}
