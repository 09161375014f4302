import { open } from 'node:fs/promises'

/**
 * Whether the file's last byte is where its size says. Files generated on reading, as in `/proc` and `/sys`, report 0
 * or one page.
 */
export async function hasTrueSize(path: string | Buffer): Promise<boolean> {
  await using file = await open(path)
  const { size } = await file.stat()
  const { bytesRead } = await file.read(Buffer.allocUnsafe(1), 0, 1, Math.max(0, size - 1))
  // The file may have changed in between.
  return bytesRead === (size === 0 ? 0 : 1) || (await file.stat()).size !== size
}
