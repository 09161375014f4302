import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** A temporary local file, for programs and parsers that need a seekable path. */
export interface StagedFile extends AsyncDisposable {
  path: string
  sizeBytes: number
  read(): AsyncIterable<Uint8Array>
}

interface StageOptions {
  mostBytes: number
  signal?: AbortSignal
  /** The error for a larger file. */
  tooLarge?: ((mostMebibytes: number) => Error) | undefined
}

const fileTooLarge = (mostMebibytes: number): Error => new Error(`The file is larger than ${mostMebibytes} MiB.`)

/** Older files were left by dead processes: no work takes that long. */
const OLD_MS = 24 * 3_600_000

export async function stageFile(
  folder: string,
  bytes: AsyncIterable<Uint8Array>,
  { mostBytes, signal, tooLarge = fileTooLarge }: StageOptions,
): Promise<StagedFile> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, randomUUID())
  let sizeBytes = 0
  try {
    await using file = await open(path, 'wx', 0o600)
    for await (const part of bytes) {
      signal?.throwIfAborted()
      sizeBytes += part.length
      if (sizeBytes > mostBytes) throw tooLarge(Math.floor(mostBytes / (1 << 20)))
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

export async function removeLeftFiles(folder: string, now = Date.now()): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    const stats = await stat(path).catch(() => null)
    if (stats !== null && now - stats.mtimeMs > OLD_MS) await rm(path, { recursive: true, force: true })
  }
}
