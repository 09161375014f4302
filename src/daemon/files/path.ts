/** Paths as the system has them: bytes. */
import { basename, dirname, join, normalize } from 'node:path'
import { pathBytes } from '#core/files/file-path.ts'

/**
 * Runs the functions for paths on bytes: all they look for is ASCII, so with a character for each byte they work on
 * bytes.
 */
const onBytes = (work: (...texts: string[]) => string, ...paths: Buffer[]): Buffer =>
  Buffer.from(work(...paths.map((path) => path.toString('latin1'))), 'latin1')

export const parentOf = (path: Buffer): Buffer => onBytes(dirname, path)
export const nameOf = (path: Buffer): Buffer => onBytes((text) => basename(text), path)
export const below = (folder: Buffer, name: Buffer): Buffer => onBytes(join, folder, name)

/** Absolute, without `.` and `..`. */
export function readPath(text: string): Buffer {
  const flat = onBytes(normalize, pathBytes(text))
  return flat.length > 1 && flat.at(-1) === 0x2f ? flat.subarray(0, -1) : flat
}
