import { setImmediate } from 'node:timers/promises'
import { createTurns } from './turns.ts'

/** The time that long work may keep this thread before everything else has a turn. */
const SLICE_MS = 10
/** Less than this delays nothing else. */
const SHORT_MS = 1

/** One slice per round of the event loop in this process, accounts in turn: many long calls delay others no more than one. */
const turns = createTurns({ atOnce: 1, each: 1, waitingEach: 1_000, waiting: 10_000 })

/** Visits items in slices, until `visit` answers false. Throws `Busy`, and the signal's reason when it fires. */
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

/** The same for work in pieces that are as long as their makers know: nothing is refused, since all of it was admitted. */
const pieces = createTurns({ atOnce: 1, each: 1, waitingEach: Infinity, waiting: Infinity })

/** Resolves when the next piece of an account's long work may begin: one per round of the event loop in this process. */
export async function nextPiece(account: string): Promise<void> {
  const turn = await pieces.take(account)
  void setImmediate().then(() => turn[Symbol.dispose]())
}
