import type { IncomingMessage } from 'node:http'

/** Bytes of a body that come at once. What is longer comes by turns. */
const AT_ONCE = 256 << 10
/** Bodies that continue in one turn of the event loop. */
const PER_TURN = 4

/**
 * Lets long bodies come piece by piece, a few pieces per turn of the event loop, the senders one after the other. Node
 * reads up to 2 MiB from each socket before it turns to another (32 reads of 64 KiB: `uv__read` of libuv), so many connections
 * that send as fast as they can would leave no time for anything else.
 */
class BodyTurns {
  readonly #waiting = new Map<string, Set<IncomingMessage>>()
  #isScheduled = false

  /** Holds a body until it is its sender's turn. Called with each piece; `bytes` came so far. */
  pace(request: IncomingMessage, sender: string, bytes: number): void {
    if (bytes < AT_ONCE || request.complete) return
    request.pause()
    const own = this.#waiting.get(sender)
    if (own) own.add(request)
    else this.#waiting.set(sender, new Set([request]))
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

  /** Resumes the oldest body of the sender that waits longest, and puts the sender last. */
  #resumeNext(): void {
    const [sender, own] = this.#waiting.entries().next().value!
    const [request] = own
    this.#waiting.delete(sender)
    own.delete(request!)
    if (own.size > 0) this.#waiting.set(sender, own)
    request!.resume()
  }
}

/** The turns of this process. */
export const bodyTurns = new BodyTurns()
