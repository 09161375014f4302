/** Stores file contents on disk or in an S3-compatible service. Database rows record what exists (`keep.ts`). */
export interface Blobs extends AsyncDisposable {
  /**
   * Writes bytes to a new place while hashing them; source chunks may be reused. Invisible until kept. If the source
   * fails or `signal` fires, removes them and throws.
   */
  stage(source: AsyncIterable<Uint8Array>, more?: StageMore): Promise<StagedBlob>
  /**
   * Yields bytes from `start` up to but not including `end`. Throws `BlobMissing` before the first chunk. With `reuse`,
   * a chunk is valid only until the next, which saves copies when writing to a socket.
   */
  read(place: string, range?: Range & { reuse?: boolean }): AsyncIterable<Uint8Array>
  pathOf(place: string): string | null
  /** Removing a missing blob isn't an error. */
  remove(place: string): Promise<void>
  /** Lists all stored files including incomplete ones, to find unreferenced ones. */
  list(): AsyncIterable<{ place: string; modifiedAt: Date }>
}

export interface StageMore {
  signal?: AbortSignal
  /** Maximum bytes; a larger body gets 413. */
  limit?: number
}

export interface Range {
  start?: number
  end?: number
}

/** Stored bytes that are still unreferenced. Call `keep`, `park`, or `discard` once. */
export interface StagedBlob {
  sha256: string
  size: number
  head: Buffer
  /** Makes the bytes durable and returns their place. Call while the row of their hash is locked. */
  keep(): Promise<string>
  park(): Promise<string>
  discard(): Promise<void>
}

/** The bytes needed to detect a file type (file-type reads 4,100). */
export const HEAD_BYTES = 4_100

export class BlobMissing extends Error {
  constructor(place: string) {
    super(`the content at ${place} is missing in the store`)
  }
}
