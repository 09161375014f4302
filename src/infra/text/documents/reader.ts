import { join } from 'node:path'
import { type Pool, type PoolLimits, TURNS, createPool } from '#packages/fair-queue/pool.ts'
import { Busy } from '#packages/fair-queue/turns.ts'
import type { Outcome } from '#packages/fair-queue/worker.ts'
import { type DocumentInput, type DocumentText, Unreadable, type UnreadableReason } from './document.ts'

/** Reads documents in sandboxed processes: a hostile one can neither crash this server nor exhaust its memory. */
export interface DocumentReader extends AsyncDisposable {
  /**
   * Reads a document in its account's turn, after calling `load`. Awaits `heavy` for documents that exceed limits,
   * before releasing the turn. Throws `Unreadable`.
   */
  read(
    account: string,
    load: () => DocumentInput | Promise<DocumentInput>,
    signal?: AbortSignal,
    heavy?: (reason: 'too_slow' | 'too_large') => Promise<void>,
  ): Promise<DocumentText>
}

const LIMITS: PoolLimits = { ...TURNS, timeMs: 20_000, heapMb: 384, memoryMb: 768 }
const program = join(import.meta.dirname, '../reading/child.ts')

type ReaderReply = { read: DocumentText } | { reason: UnreadableReason; message: string }

export function createDocumentReader(limits: Partial<PoolLimits> = {}): DocumentReader {
  const most = { ...LIMITS, ...limits }
  const messages = {
    too_slow: `The document takes longer than ${most.timeMs / 1000} s to read.`,
    too_large: 'The document needs too much memory to read.',
  }
  const pool: Pool<DocumentInput, ReaderReply> = createPool(program, most)
  return {
    async read(account, load, signal, heavy) {
      const conclude = async (outcome: Outcome<ReaderReply>): Promise<void> => {
        const reason = 'lost' in outcome ? outcome.lost : 'reason' in outcome.said ? outcome.said.reason : null
        if (reason === 'too_slow' || reason === 'too_large') await heavy?.(reason)
      }
      const outcome = await pool.ask(account, load, signal, conclude).catch((error: unknown) => {
        if (error instanceof Busy) throw new Unreadable('busy', error.message)
        throw error
      })
      if ('said' in outcome) {
        if ('read' in outcome.said) return outcome.said.read
        throw new Unreadable(outcome.said.reason, outcome.said.message)
      }
      if (outcome.lost === 'unsent') throw new Unreadable('busy', 'The document can’t be read right now.')
      throw new Unreadable(outcome.lost, messages[outcome.lost])
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
