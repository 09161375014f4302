/** Pieces that are read in one turn of the event loop, of all sources together. */
const PER_TURN = 4

/** Something that brings bytes: a request, an answer of another server, a result of the database. */
interface Source {
  pause(): unknown
  resume(): unknown
}

/**
 * Lets long sources bring their bytes piece by piece, a few pieces per turn of the event loop, the accounts one after the
 * other. Node reads up to 2 MiB from each socket before it turns to another (32 reads of 64 KiB: `uv__read` of libuv), so
 * a few connections that send as fast as they can would leave no time for anything else. Each process has turns of its own.
 */
class ReadTurns {
  readonly #waiting = new Map<string, Set<Source>>()
  #isScheduled = false

  /** Pauses a source until it is its account's turn. A source that ends meanwhile may still be resumed. */
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

  /** Resumes the source that waits longest of the account that waits longest, and puts the account last. */
  #resumeNext(): void {
    const [account, own] = this.#waiting.entries().next().value!
    const [source] = own
    this.#waiting.delete(account)
    own.delete(source!)
    if (own.size > 0) this.#waiting.set(account, own)
    source!.resume()
  }
}

/** The turns of this process. */
export const readTurns = new ReadTurns()

/** Bytes of a request's body that come at once. A longer body comes by turns. */
const AT_ONCE = 256 << 10

/** Called with each piece of a request's body; `bytes` came so far. */
export function paceBody(request: Source & { complete: boolean }, account: string, bytes: number): void {
  if (bytes >= AT_ONCE && !request.complete) readTurns.pace(request, account)
}
