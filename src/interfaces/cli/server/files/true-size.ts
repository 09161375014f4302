import { open } from 'node:fs/promises'

/**
 * Whether a file ends where its size says, as far as its last byte shows. Files that the system generates on reading, as
 * in `/proc` and `/sys`, report 0 or one page instead.
 */
export async function hasTrueSize(path: string | Buffer): Promise<boolean> {
  await using file = await open(path)
  const { size } = await file.stat()
  const { bytesRead } = await file.read(Buffer.allocUnsafe(1), 0, 1, Math.max(0, size - 1))
  // A file that was written in between has a new size.
  return bytesRead === (size === 0 ? 0 : 1) || (await file.stat()).size !== size
}
