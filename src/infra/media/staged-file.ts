import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { refuse } from '#core/errors.ts'
import { newId } from '#core/ids.ts'

/** Bytes that lie on this machine for as long as somebody works on them: programs and parsers that seek need a path. */
export interface StagedFile extends AsyncDisposable {
  path: string
  sizeBytes: number
  /** The file from its first byte, each time. */
  read(): AsyncIterable<Uint8Array>
}

/** A file older than this was left by a process that died: work on one never takes so long. */
const OLD_MS = 24 * 3_600_000

/** Writes a stream to a file of its own below `folder`. More than `mostBytes` are refused with 413, and nothing stays. */
export async function stageFile(
  folder: string,
  bytes: AsyncIterable<Uint8Array>,
  { mostBytes, signal }: { mostBytes: number; signal?: AbortSignal },
): Promise<StagedFile> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, newId())
  let sizeBytes = 0
  try {
    await using file = await open(path, 'wx', 0o600)
    for await (const part of bytes) {
      signal?.throwIfAborted()
      sizeBytes += part.length
      if (sizeBytes > mostBytes)
        refuse('payload_too_large', { message: `The file is larger than ${Math.floor(mostBytes / (1 << 20))} MiB.` })
      await file.writeFile(part)
    }
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
  return {
    path,
    sizeBytes,
    read: () => createReadStream(path),
    [Symbol.asyncDispose]: () => rm(path, { force: true }),
  }
}

/** Removes what dead processes left there. */
export async function removeLeftFiles(folder: string, now = Date.now()): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    const stats = await stat(path).catch(() => null)
    if (stats !== null && now - stats.mtimeMs > OLD_MS) await rm(path, { recursive: true, force: true })
  }
}
