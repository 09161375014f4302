/** The store of file bytes: on disk beside the database, or S3-compatible. Rows say what is there (`keep.ts`). */
export interface Blobs extends AsyncDisposable {
  /**
   * Takes bytes to a place of their own and hashes them on the way; a part of the source need hold only until the next. Nothing is to be seen of them until they are kept.
   * When the source breaks off or `signal` fires nothing of it stays, and this throws.
   */
  stage(source: AsyncIterable<Uint8Array>, more?: StageMore): Promise<StagedBlob>
  /**
   * The bytes from `start` to before `end`, in large parts. Throws `BlobMissing` before the first part.
   * With `reuse` a part holds only until the next is asked for: what is written to a socket part by part needs no copies.
   */
  read(place: string, range?: Range & { reuse?: boolean }): AsyncIterable<Uint8Array>
  /** The path of the bytes on this machine, for readers of many small ones; null where they are elsewhere. */
  pathOf(place: string): string | null
  /** Gone is gone: to remove what is not there is not a fault. */
  remove(place: string): Promise<void>
  /** Lists every file in the store, half-written ones included, to find those that no row knows. */
  list(): AsyncIterable<{ place: string; modifiedAt: Date }>
}

export interface StageMore {
  signal?: AbortSignal
  /** The most bytes that are taken; a larger body is refused with 413. */
  limit?: number
}

export interface Range {
  start?: number
  /** Exclusive. */
  end?: number
}

/** Bytes that are there and belong to nobody yet. `keep`, `park` or `discard`, once. */
export interface StagedBlob {
  /** 64 hex digits. */
  sha256: string
  size: number
  /** The first bytes, to tell what they are. */
  head: Buffer
  /** Makes them stay, durably. Answers their place. Comes while the row of their hash is held. */
  keep(): Promise<string>
  /** Makes them stay, durably, as a part of what is not whole yet, at a place that no other bytes share. */
  park(): Promise<string>
  discard(): Promise<void>
}

/** The number of leading bytes that tell a file's type (file-type reads 4,100). */
export const HEAD_BYTES = 4_100

export class BlobMissing extends Error {
  constructor(place: string) {
    super(`the content at ${place} is missing in the store`)
  }
}
