import type { FileHandle } from 'node:fs/promises'
import type { Input, Output } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { refuse } from '#core/errors.ts'
import { archive } from './archive.ts'
import { rowOf } from '../entry.ts'
import { refuseSystem } from '../faults.ts'
import { lookAt } from './true-size.ts'
import { nameOf, readPath } from '../path.ts'
import type { Roots } from '../within.ts'

const PIECE = 64 * 1024

/**
 * Sends a file from `offset` on, or a folder as an archive. A file that changes meanwhile ends with `stale_update`,
 * never with too few bytes. A file without a true size has neither `length` nor `etag`.
 */
export async function read(
  roots: Roots,
  { path: given, offset, length, archive: format }: Input<'fs.read'>,
  stream: Stream,
  signal: AbortSignal,
): Promise<Output<'fs.read'>> {
  const path = readPath(given)
  const { handle, path: real } = await roots.openFile(path)
  await using file = handle
  const { stats, size } = await lookAt(file).catch((error) => refuseSystem(error, path))
  // A downloaded symlink target gets the link's name, as with `scp`.
  const entry = await rowOf({ path: real, name: nameOf(path), stats })
  if (stats.isDirectory()) {
    if (format === null)
      refuse('invalid_parameter', {
        param: 'path',
        message: 'The path is a folder. Set `archive=zip` or `archive=tar` to download it.',
      })
    stream.event({ type: 'head', entry, length: null, etag: null })
    return { bytes: await archive(roots, real, format, stream, signal) }
  }
  if (format !== null)
    refuse('invalid_parameter', { param: 'archive', message: 'Only folders can be downloaded as an archive.' })
  if (size === null) {
    stream.event({ type: 'head', entry, length: null, etag: null })
    return { bytes: await sendToEnd(file, { offset, length, path }, stream, signal) }
  }
  if (offset > size) refuse('range_not_satisfiable', { details: { size_bytes: size } })
  const end = length === null ? size : Math.min(size, offset + length)
  // Nanoseconds tell apart two writes within a millisecond.
  stream.event({
    type: 'head',
    entry,
    length: end - offset,
    etag: `${stats.ino.toString(36)}-${stats.mtimeNs.toString(36)}-${size.toString(36)}`,
  })
  await send(file, offset, end, path, stream, signal)
  return { bytes: end - offset }
}

async function send(
  file: FileHandle,
  from: number,
  end: number,
  path: Buffer,
  stream: Stream,
  signal: AbortSignal,
): Promise<void> {
  const next = async (at: number): Promise<Buffer> => {
    const piece = Buffer.allocUnsafe(Math.min(PIECE, end - at))
    const { bytesRead } = await file.read(piece, 0, piece.length, at)
    return piece.subarray(0, bytesRead)
  }
  try {
    let ahead = from < end ? next(from) : null
    for (let at = from; at < end;) {
      signal.throwIfAborted()
      const piece = await ahead!
      if (piece.length === 0)
        refuse('stale_update', {
          param: 'path',
          message: 'The file was truncated while it was being read.',
          details: { bytes_read: at },
        })
      at += piece.length
      ahead = at < end ? next(at) : null
      // Keeps an abandoned read-ahead from being an unhandled rejection.
      ahead?.catch(() => {})
      await stream.write(piece)
    }
  } catch (error) {
    refuseSystem(error, path)
  }
}

/** Sends up to `length` bytes of a file without a true size. Returns the number of bytes. */
async function sendToEnd(
  file: FileHandle,
  { offset, length, path }: { offset: number; length: number | null; path: Buffer },
  stream: Stream,
  signal: AbortSignal,
): Promise<number> {
  const most = length ?? Infinity
  let total = 0
  try {
    while (total < most) {
      signal.throwIfAborted()
      const piece = Buffer.allocUnsafe(Math.min(PIECE, most - total))
      const { bytesRead } = await file.read(piece, 0, piece.length, offset + total)
      if (bytesRead === 0) break
      await stream.write(piece.subarray(0, bytesRead))
      total += bytesRead
    }
  } catch (error) {
    refuseSystem(error, path)
  }
  return total
}
