/** Writing that is still there after a crash of the machine. */
import { type FileHandle, open } from 'node:fs/promises'

/** A write to a nearly full disk may take only a part of the bytes before the next one fails. */
export async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += (await file.write(bytes, at)).bytesWritten
}

/** Makes names in a folder last: a file's own `sync` does not. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
