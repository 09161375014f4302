import type { MuxOptions } from '#daemon-protocol/link.ts'
import { KEEPER_OPERATIONS } from './keeper/keeper.ts'

export class Calls {
  readonly answer: MuxOptions['answer']
  readonly #waiting = new Set<() => void>()
  #running = 0

  constructor(answer: MuxOptions['answer']) {
    this.answer = async (asked, stream, call) => {
      if ((KEEPER_OPERATIONS as readonly string[]).includes(asked.op)) return answer(asked, stream, call)
      this.#running++
      try {
        return await answer(asked, stream, call)
      } finally {
        if (--this.#running === 0) for (const wake of this.#waiting) wake()
      }
    }
  }

  /** Resolves once no call is running, or after `mostMs`. */
  idle(mostMs: number, signal: AbortSignal): Promise<void> {
    if (this.#running === 0 || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        this.#waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, mostMs)
      signal.addEventListener('abort', wake, { once: true })
      this.#waiting.add(wake)
    })
  }
}
