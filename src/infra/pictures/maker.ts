import { join } from 'node:path'
import { type Pool, type PoolLimits, TURNS, createPool } from '../confined/pool.ts'
import type { Outcome } from '../confined/worker.ts'

export interface PictureRequest {
  bytes: Uint8Array
  /** Width and height at most. */
  pixels: number
}

/** A small picture as WebP; or why there is none: it is none that can be read, or the library is not installed. */
export type PictureResult = { bytes: Uint8Array } | { none: string } | { missing: true }

/** Makes pictures small in processes of their own, account by account in turn. */
export interface PictureMaker extends AsyncDisposable {
  /** Throws `Busy`. */
  draw(account: string, load: () => Promise<PictureRequest>, signal?: AbortSignal): Promise<Outcome<PictureResult>>
}

/** A page of pictures asks for some dozens. */
const LIMITS: PoolLimits = { ...TURNS, waitingEach: 60, timeMs: 15_000, heapMb: 256, memoryMb: 640 }
const program = join(import.meta.dirname, 'child.ts')

export function createPictureMaker(limits: Partial<PoolLimits> = {}): PictureMaker {
  // The library that draws is native code.
  const pool: Pool<PictureRequest, PictureResult> = createPool(program, { ...LIMITS, ...limits }, ['--allow-addons'])
  return {
    draw: pool.ask,
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
