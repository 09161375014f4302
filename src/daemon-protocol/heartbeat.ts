import { CLOSE, type Mux } from './mux.ts'

/** Every end of every hop pings, ms. */
export const BEAT_MS = 15_000
/** A link is dead when nothing came for so long. */
export const DEAD_MS = 45_000

/** The reason with which a link is closed then. Streams that it had open end with it. */
export const SILENT = 'nothing was heard for too long'

export interface Beat {
  everyMs?: number
  deadMs?: number
  /** Asks only where nothing was heard since the last beat: the other end has a beat as well, and this one answers it. */
  answers?: boolean
}

/** Pings until the link closes, and closes it (4003) when nothing at all came for `deadMs`: any frame is a sign of life. */
export function keepAlive(mux: Mux, { everyMs = BEAT_MS, deadMs = DEAD_MS, answers = false }: Beat = {}): void {
  let heard = mux.heard
  let since = mux.now()
  const timer = setInterval(() => {
    if (mux.closed) return clearInterval(timer)
    if (mux.heard !== heard) {
      heard = mux.heard
      since = mux.now()
      if (answers) return
    } else if (mux.now() - since > deadMs - everyMs) {
      clearInterval(timer)
      return mux.close(CLOSE.silent, SILENT)
    }
    mux.ping()
  }, everyMs)
  timer.unref()
}
