import { CLOSE, type Mux } from './mux.ts'

/** Ping interval of each end of a hop, in ms. */
export const BEAT_MS = 15_000
/** A link without any frame for this long is dead, in ms. */
export const DEAD_MS = 45_000

/** The close reason of a dead link, and of the streams on it. */
export const SILENT = 'nothing was heard for too long'

export interface Beat {
  everyMs?: number
  deadMs?: number
  /** Pings only if nothing arrived since the last beat, for an end that also answers its peer's pings. */
  answers?: boolean
}

/** Pings until the link closes, and closes it (4003) if no frame arrives for `deadMs`. */
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
