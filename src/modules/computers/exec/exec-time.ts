/** The server's limit. The computer enforces `timeout_ms` itself, unless it hangs. */
import { Refusal } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Links } from '../link/links.ts'

interface ExecTime extends AsyncDisposable {
  /** Aborts with the caller's signal, and with a refusal if the computer is silent for too long. */
  readonly signal: AbortSignal
  /** The command started; `goesOn` starts its limit. */
  begins(): void
  /** Resumes the limit: the server waits for the computer. */
  goesOn(): void
  /** Pauses the limit: the caller is reading output, or the computer is offline. */
  rests(): void
}

interface ExecTimeOptions {
  signal: AbortSignal
  leaving: AbortSignal | undefined
  joins: true | undefined
}

/**
 * `answerMs` to start, then `timeout_ms` plus `answerMs`. Foreground commands without a timeout may run while the
 * keeper responds.
 */
export function timeOf(
  links: Links,
  computerId: Id,
  { timeout_ms }: { timeout_ms: number | null },
  { signal, leaving, joins }: ExecTimeOptions,
): ExecTime {
  const { answerMs } = links.limits
  const limit = links.limit(computerId, signal, answerMs)
  const silence = new AbortController()
  const eitherSignal = AbortSignal.any([limit.signal, silence.signal])
  const asks = timeout_ms === null && leaving === undefined && joins === undefined
  let until: number | null = null
  let lastProgress = performance.now()
  let probe: Promise<void> | null = null
  /** Only a live keeper can answer for an unknown command. */
  const look = async (): Promise<void> => {
    try {
      await links.ask(computerId, 'exec.kill', { key: newId(), signal: null }, { signal: eitherSignal })
    } catch (error) {
      if (error instanceof Refusal && error.code === 'timeout') silence.abort(error)
    }
  }
  const lookIfStill = (): void => {
    if (until === null || performance.now() - lastProgress < answerMs) return
    probe ??= look().finally(() => (probe = null))
  }
  const timer = asks ? setInterval(lookIfStill, answerMs) : undefined
  return {
    signal: eitherSignal,
    begins: () => void (until ??= performance.now() + (timeout_ms ?? Infinity) + answerMs),
    goesOn() {
      lastProgress = performance.now()
      limit.moved(until === null ? answerMs : Math.max(answerMs, until - lastProgress))
    },
    rests() {
      lastProgress = Infinity
      limit.rest()
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      limit[Symbol.dispose]()
    },
  }
}
