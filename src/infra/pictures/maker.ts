import { join } from 'node:path'
import { type Pool, type PoolLimits, TURNS, createPool } from '#packages/fair-queue/pool.ts'
import type { Outcome } from '#packages/fair-queue/worker.ts'

export interface PictureRequest {
  bytes: Uint8Array
  pixels: number
}

export type PictureResult = { bytes: Uint8Array } | { none: string } | { missing: true }

export interface PictureMaker extends AsyncDisposable {
  draw(account: string, load: () => Promise<PictureRequest>, signal?: AbortSignal): Promise<Outcome<PictureResult>>
}

/** A page of images requests dozens. */
const LIMITS: PoolLimits = { ...TURNS, waitingEach: 60, timeMs: 15_000, heapMb: 256, memoryMb: 640 }
const program = join(import.meta.dirname, 'child.ts')

export function createPictureMaker(limits: Partial<PoolLimits> = {}): PictureMaker {
  // The image library is native code.
  const pool: Pool<PictureRequest, PictureResult> = createPool(program, { ...LIMITS, ...limits }, ['--allow-addons'])
  return {
    draw: pool.ask,
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
