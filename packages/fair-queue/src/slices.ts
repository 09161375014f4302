import { setImmediate } from 'node:timers/promises'
import { createTurns } from './turns.ts'

const SLICE_MS = 10
const SHORT_MS = 1

/**
 * One slice per event-loop turn in this process, alternating between accounts, so that many long calls delay others no
 * more than one does.
 */
const turns = createTurns({ atOnce: 1, each: 1, waitingEach: 1_000, waiting: 10_000 })

export async function visitInSlices<T>(
  account: string,
  items: readonly T[],
  visit: (item: T) => boolean,
  signal?: AbortSignal,
): Promise<void> {
  for (let at = 0; at < items.length;) {
    const turn = await turns.take(account, signal)
    const startedAt = performance.now()
    try {
      do if (!visit(items[at++]!)) return
      while (at < items.length && performance.now() < startedAt + SLICE_MS)
    } finally {
      if (performance.now() < startedAt + SHORT_MS) turn[Symbol.dispose]()
      else void setImmediate().then(() => turn[Symbol.dispose]())
    }
  }
}

/** The same for admitted work in pieces of any length, so nothing is refused. */
const pieces = createTurns({ atOnce: 1, each: 1, waitingEach: Infinity, waiting: Infinity })

export async function nextPiece(account: string): Promise<void> {
  const turn = await pieces.take(account)
  void setImmediate().then(() => turn[Symbol.dispose]())
}
