import { join } from 'node:path'
import { type Pool, type PoolLimits, TURNS, createPool } from '#packages/fair-queue/pool.ts'
import { Busy } from '#packages/fair-queue/turns.ts'
import type { MediaFacts } from '../facts.ts'
import { UnreadableMedia, type UnreadableMediaReason } from './unreadable.ts'

/** Reads media facts in sandboxed processes: a hostile file can neither crash this server nor exhaust its memory. */
export interface MediaProbe extends AsyncDisposable {
  facts(account: string, path: string, signal?: AbortSignal): Promise<MediaFacts>
  /**
   * An image without metadata about its author: location, camera, names, times. Keeps the orientation. JPEG, PNG, WebP,
   * and GIF keep their pixel data unchanged; others become PNG. Throws `UnreadableMedia`.
   */
  bare(account: string, path: string, signal?: AbortSignal): Promise<BarePicture>
}

export interface BarePicture {
  bytes: Uint8Array
  facts: MediaFacts
}

export interface ProbeRequest {
  path: string
  want: 'facts' | 'bare'
}
export type ProbeResult =
  | { facts: MediaFacts; bytes: Uint8Array | null }
  | { reason: UnreadableMediaReason; message: string }

const LIMITS: PoolLimits = { ...TURNS, timeMs: 30_000, heapMb: 256, memoryMb: 768 }
const program = join(import.meta.dirname, 'child.ts')

export function createMediaProbe(limits: Partial<PoolLimits> = {}): MediaProbe {
  const most = { ...LIMITS, ...limits }
  // The image decoder is native code.
  const pool: Pool<ProbeRequest, ProbeResult> = createPool(program, most, ['--allow-addons'])
  const messages: Record<'too_slow' | 'too_large', string> = {
    too_slow: `It takes longer than ${most.timeMs / 1000} s to read.`,
    too_large: 'It needs too much memory to read, or crashes the reader.',
  }

  async function ask(account: string, request: ProbeRequest, signal?: AbortSignal) {
    const outcome = await pool
      .ask(account, () => request, signal)
      .catch((error: unknown) => {
        if (error instanceof Busy) throw new UnreadableMedia('busy', error.message)
        throw error
      })
    if ('lost' in outcome) {
      if (outcome.lost === 'unsent') throw new UnreadableMedia('busy', 'It can’t be read right now. Try again later.')
      throw new UnreadableMedia(outcome.lost, messages[outcome.lost])
    }
    const { said } = outcome
    if ('reason' in said) throw new UnreadableMedia(said.reason, said.message)
    return said
  }

  return {
    facts: async (account, path, signal) => (await ask(account, { path, want: 'facts' }, signal)).facts,
    async bare(account, path, signal) {
      const { facts, bytes } = await ask(account, { path, want: 'bare' }, signal)
      return { bytes: bytes!, facts }
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
