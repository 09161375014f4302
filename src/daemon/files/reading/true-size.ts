import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'

/**
 * Returns the file's stats and size, or null for an untrue size: generated files, as in `/proc` and `/sys`, report
 * 0 or one page. Throws the system's error if the file can't be read.
 */
export async function lookAt(file: FileHandle): Promise<{ stats: BigIntStats; size: number | null }> {
  const stats = await file.stat({ bigint: true })
  const size = Number(stats.size)
  if (stats.isDirectory() || (await endsAt(file, size))) return { stats, size }
  const now = await file.stat({ bigint: true })
  return { stats: now, size: now.size === stats.size ? null : Number(now.size) }
}

/** Whether the file ends after `size` bytes, judging by its last byte. */
async function endsAt(file: FileHandle, size: number): Promise<boolean> {
  const { bytesRead } = await file.read(Buffer.allocUnsafe(1), 0, 1, Math.max(0, size - 1))
  return bytesRead === (size === 0 ? 0 : 1)
}
