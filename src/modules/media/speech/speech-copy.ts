import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { Media } from '#packages/media-tools/media.ts'
import type { StagedFile } from '#packages/media-tools/staged-file.ts'

/** Collects streamed audio for saving. */
export interface SpeechCopy extends AsyncDisposable {
  write(part: Uint8Array): Promise<void>
  /** Valid until disposal. */
  end(): Promise<StagedFile>
}

const MAX_BYTES = 512 << 20

export function copyOf(media: Media, signal: AbortSignal): SpeechCopy {
  const through = new PassThrough()
  const stagedFile = media.stage(through, { mostBytes: MAX_BYTES, signal })
  // Reported where it's awaited.
  stagedFile.catch((error: unknown) => through.destroy(error as Error))
  through.on('error', () => {})
  return {
    async write(part) {
      // The buffer is valid only until the next read.
      if (through.write(Buffer.from(part)) || through.destroyed) return
      await Promise.race([once(through, 'drain'), stagedFile])
    },
    async end() {
      through.end()
      return stagedFile
    },
    async [Symbol.asyncDispose]() {
      through.destroy()
      const file = await stagedFile.catch(() => null)
      await file?.[Symbol.asyncDispose]()
    },
  }
}
