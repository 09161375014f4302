import { type Stats, constants } from 'node:fs'
import { type FileHandle, link, lstat, open, rename, rm, unlink } from 'node:fs/promises'
import type { Input, Output } from '#daemon-protocol/operations.ts'
import { LinkLost, type Stream, StreamReset } from '#packages/mux/stream.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { pathText } from '#core/files/file-path.ts'
import { entryAt } from '../entry.ts'
import { freeBytes, isFull, refuseFull, refuseMaking } from '../faults.ts'
import { type Parts, partOf } from './parts.ts'
import { below, readPath } from '../path.ts'
import { takeTurn, takeTurnToDrop } from './under-way.ts'
import type { Folder, Roots } from '../within.ts'

/** How often the sender receives the offset. It buffers this many bytes in case the link breaks. */
const TELL_BYTES = 262_144

const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants

export async function uploadOffset(
  { roots, parts }: { roots: Roots; parts: Parts },
  { path, key }: Input<'fs.upload_offset'>,
): Promise<Output<'fs.upload_offset'>> {
  const { folder, name } = await roots.openTarget(readPath(path))
  await using _folder = folder
  const partStats = await lstat(folder.at(partOf(name, key))).catch(() => null)
  if (partStats?.isFile()) return { offset: partStats.size }
  const target = await lstat(folder.at(name)).catch(() => null)
  const became = await parts.became(pathText(below(folder.path, partOf(name, key))), target)
  return { offset: became ? target!.size : 0 }
}

/** Removes the partial file of an upload after its sender lost permission. */
export async function dropUpload(
  { roots, parts }: { roots: Roots; parts: Parts },
  { path, key }: Input<'fs.upload_drop'>,
): Promise<Output<'fs.upload_drop'>> {
  const { folder, name } = await roots.openTarget(readPath(path))
  await using _folder = folder
  const part = partOf(name, key)
  const place = pathText(below(folder.path, part))
  using _turn = await takeTurnToDrop(place)
  await rm(folder.at(part), { force: true })
  await parts.drop(place)
  return {}
}

/**
 * Receives a file beside its target, then syncs and renames it into place, following symlinks. An interrupted
 * upload can be resumed; a rejected one leaves nothing. The file keeps the mode and owner of the one it replaces.
 */
export async function write(
  { roots, parts }: { roots: Roots; parts: Parts },
  input: Input<'fs.write'>,
  stream: Stream,
  signal: AbortSignal,
): Promise<Output<'fs.write'>> {
  const path = readPath(input.path)
  const { folder, name, followed } = await roots.openTarget(path)
  await using _folder = folder
  const place = pathText(below(folder.path, partOf(name, input.key)))
  using _turn = await takeTurn(place, stream, signal)
  const target = await lstat(folder.at(name)).catch(() => null)
  if (input.complete && input.offset > 0 && input.offset === target?.size && (await parts.became(place, target)))
    return { offset: target.size, entry: await entryAt(folder, name) }
  const part = folder.at(partOf(name, input.key))
  try {
    checkPlace(target, followed, path, input)
    await parts.note(place)
    const offset = await fill(part, { folder, name, place, parts }, input, stream, signal).catch((error) =>
      refuseMaking(folder, error, path),
    )
    if (!input.complete) return { offset, entry: null }
    await putInPlace(folder, part, name, path, input.overwrite)
    await parts.forget(place)
    return { offset, entry: await entryAt(folder, name) }
  } catch (error) {
    if (!isResumable(error, signal)) {
      await unlink(part).catch(() => {})
      await parts.drop(place)
    }
    throw error
  }
}

const isResumable = (error: unknown, signal: AbortSignal): boolean =>
  signal.aborted ||
  error instanceof StreamReset ||
  error instanceof LinkLost ||
  (error instanceof Refusal && error.code === 'stale_update')

interface Place {
  folder: Folder
  name: Buffer
  place: string
  parts: Parts
}

async function fill(
  part: Buffer,
  { folder, name, place, parts }: Place,
  input: Input<'fs.write'>,
  stream: Stream,
  signal: AbortSignal,
): Promise<number> {
  const file = await open(part, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
  try {
    const offset = await receive(file, folder, input, stream, signal)
    if (!input.complete) return offset
    if (input.size !== null && offset !== input.size)
      refuse('stale_update', {
        param: 'size',
        message: `The upload ended after ${offset} of ${input.size} bytes.`,
        details: { offset },
      })
    await inherit(file, folder, name, input.mode ?? 0o666)
    if (input.modified_at) await file.utimes(new Date(), new Date(input.modified_at))
    await sync(file, offset, stream)
    await parts.finish(place, await file.stat())
    return offset
  } finally {
    await file.close()
  }
}

const SYNC_TELL_MS = 5_000
const MAX_SYNC_TELLS = 120

/** Flushes the file to disk, which may take minutes, and reports progress meanwhile. */
async function sync(file: FileHandle, offset: number, stream: Stream): Promise<void> {
  let reportsLeft = MAX_SYNC_TELLS
  const timer = setInterval(() => reportsLeft-- > 0 && stream.event({ type: 'offset', offset }), SYNC_TELL_MS)
  try {
    await file.sync()
  } finally {
    clearInterval(timer)
  }
}

/** `followed`: the path is a symlink, and `there` is its target. */
function checkPlace(
  there: Stats | null,
  followed: boolean,
  path: Buffer,
  { overwrite }: Pick<Input<'fs.write'>, 'overwrite'>,
): void {
  const at = { param: 'path', details: { path: pathText(path) } }
  if (there?.isDirectory()) refuse('invalid_state', { ...at, message: 'The path is a folder.' })
  if ((there || followed) && !overwrite)
    refuse('already_exists', {
      ...at,
      message: followed
        ? 'A symlink already exists at this path. Set `overwrite=true` to write to its target.'
        : 'A file already exists at this path. Set `overwrite=true` to replace it.',
    })
  if (there && !there.isFile() && !there.isSymbolicLink())
    refuse('invalid_state', { ...at, message: 'The path is a device, socket or pipe, which can’t be replaced.' })
}

async function receive(
  file: FileHandle,
  folder: Folder,
  { offset: from, size }: Input<'fs.write'>,
  stream: Stream,
  signal: AbortSignal,
): Promise<number> {
  const received = (await file.stat()).size
  // An upload that starts at 0 drops remains of an earlier one with its key.
  if (from === 0 && received > 0) await file.truncate(0)
  else if (from !== received)
    refuse('stale_update', {
      param: 'offset',
      message: `The upload must continue at offset ${received}.`,
      details: { offset: received },
    })
  if (size !== null) await checkRoom(folder, size - from)
  stream.event({ type: 'offset', offset: from })
  let at = from
  let reportedAt = from
  try {
    for await (const each of stream) {
      signal.throwIfAborted()
      if (each.type === 'finished') break
      if (each.type !== 'bytes') continue
      if (size !== null && at + each.bytes.length > size)
        refuse('invalid_parameter', { param: 'size', message: `More than the declared ${size} bytes were sent.` })
      await writeWhole(file, each.bytes, at)
      at += each.bytes.length
      if (at - reportedAt < TELL_BYTES) continue
      reportedAt = at
      stream.event({ type: 'offset', offset: at })
    }
  } catch (error) {
    if (isFull(error)) await refuseFull(folder, size === null ? null : size - at)
    throw error
  }
  return at
}

async function writeWhole(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let count = 0; count < bytes.length;)
    count += (await file.write(bytes, count, bytes.length - count, at + count)).bytesWritten
}

async function checkRoom(folder: Folder, needed: number): Promise<void> {
  if ((await freeBytes(folder)) < needed) await refuseFull(folder, needed)
}

async function inherit(file: FileHandle, folder: Folder, name: Buffer, mode: number): Promise<void> {
  const replaced = await lstat(folder.at(name)).catch(() => null)
  if (!replaced?.isFile()) return file.chmod(mode & ~process.umask())
  await file.chmod(replaced.mode & 0o7777)
  // Only root can change the owner.
  await file.chown(replaced.uid, replaced.gid).catch(() => {})
}

async function putInPlace(folder: Folder, part: Buffer, name: Buffer, path: Buffer, overwrite: boolean): Promise<void> {
  try {
    if (overwrite) await rename(part, folder.at(name))
    else {
      // `link` fails if the name was taken meanwhile; `rename` would replace it.
      await link(part, folder.at(name))
      await unlink(part)
    }
    await folder.handle.sync()
  } catch (error) {
    await refuseMaking(folder, error, path)
  }
}
