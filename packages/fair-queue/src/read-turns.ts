const PER_TURN = 4

interface Source {
  pause(): unknown
  resume(): unknown
}

/**
 * Reads long sources piece by piece, a few per event-loop turn, alternating between accounts. Node reads up to 2 MiB
 * from a socket before the next one (32 reads of 64 KiB: libuv's `uv__read`), so a few fast senders would block
 * everything else. One instance per process.
 */
class ReadTurns {
  readonly #waiting = new Map<string, Set<Source>>()
  #isScheduled = false

  /** Pauses a source until its account's turn. A source that ended may still be resumed. */
  pace(source: Source, account: string): void {
    source.pause()
    const own = this.#waiting.get(account)
    if (own) own.add(source)
    else this.#waiting.set(account, new Set([source]))
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      for (let n = 0; n < PER_TURN && this.#waiting.size > 0; n++) this.#resumeNext()
      if (this.#waiting.size > 0) this.#schedule()
    })
  }

  #resumeNext(): void {
    const [account, own] = this.#waiting.entries().next().value!
    const [source] = own
    this.#waiting.delete(account)
    own.delete(source!)
    if (own.size > 0) this.#waiting.set(account, own)
    source!.resume()
  }
}

export const readTurns = new ReadTurns()

const AT_ONCE = 256 << 10

export function paceBody(request: Source & { complete: boolean }, account: string, bytes: number): void {
  if (bytes >= AT_ONCE && !request.complete) readTurns.pace(request, account)
}
