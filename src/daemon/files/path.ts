import { basename, dirname, join, normalize } from 'node:path'
import { pathBytes } from '#core/files/file-path.ts'

/** Applies string functions to byte paths, with one character per byte. Correct because they only look for ASCII. */
const onBytes = (work: (...texts: string[]) => string, ...paths: Buffer[]): Buffer =>
  Buffer.from(work(...paths.map((path) => path.toString('latin1'))), 'latin1')

export const parentOf = (path: Buffer): Buffer => onBytes(dirname, path)
export const nameOf = (path: Buffer): Buffer => onBytes((text) => basename(text), path)
export const below = (folder: Buffer, name: Buffer): Buffer => onBytes(join, folder, name)

/** Returns an absolute path without `.` and `..`. */
export function readPath(text: string): Buffer {
  const flat = onBytes(normalize, pathBytes(text))
  return flat.length > 1 && flat.at(-1) === 0x2f ? flat.subarray(0, -1) : flat
}
