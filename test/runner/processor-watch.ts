import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

const INTERVAL_MS = 1_500
/** The idle share of CPU time from which a machine counts as idle. */
const IDLE_SHARE = 0.3

export class ProcessorWatch {
  readonly #stopped = new AbortController()
  #waiting: (() => void)[] = []

  constructor() {
    void this.#watch()
  }

  /** Resolves one caller at a time, so that each one's load shows first. */
  async becomeIdle(): Promise<void> {
    if (this.#stopped.signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    await promise
  }

  stop(): void {
    this.#stopped.abort()
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  async #watch(): Promise<void> {
    let before = processorTimes()
    while (!this.#stopped.signal.aborted) {
      await sleep(INTERVAL_MS, undefined, { signal: this.#stopped.signal }).catch(() => {})
      const now = processorTimes()
      const idle = (now.idle - before.idle) / Math.max(1, now.all - before.all)
      before = now
      if (idle >= IDLE_SHARE) this.#waiting.shift()?.()
    }
  }
}

function processorTimes(): { idle: number; all: number } {
  const times = cpus().map((cpu) => cpu.times)
  const sum = (count: (one: (typeof times)[number]) => number): number =>
    times.reduce((all, one) => all + count(one), 0)
  return { idle: sum(({ idle }) => idle), all: sum(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq) }
}
