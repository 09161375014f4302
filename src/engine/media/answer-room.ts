/**
 * The memory that answers of vendors take together in this process while they have to be whole: pictures in base64,
 * transcripts. Where it is full, whoever reads on waits, and so does the vendor; the one that has been reading longest never
 * does, so that somebody always comes to an end. Each server process has a room of its own.
 */
export class AnswerRoom {
  readonly #limit: number
  #held = 0
  /** Those that hold something, the one that began first in front. */
  readonly #places = new Set<AnswerPlace>()
  #waiting: (() => void)[] = []

  constructor(limitBytes: number) {
    this.#limit = limitBytes
  }

  get heldBytes(): number {
    return this.#held
  }

  /** A place for one call, which it leaves when it is disposed of. `signal`: nobody waits any more. */
  place(signal: AbortSignal): AnswerPlace {
    return new AnswerPlace(this, signal)
  }

  /** Of `AnswerPlace` alone. */
  async take(place: AnswerPlace, bytes: number, signal: AbortSignal): Promise<void> {
    this.#places.add(place)
    while (this.#held + bytes > this.#limit && this.#places.values().next().value !== place) {
      signal.throwIfAborted()
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
    }
    signal.throwIfAborted()
    this.#held += bytes
  }

  /** Of `AnswerPlace` alone. */
  leave(place: AnswerPlace, bytes: number): void {
    this.#places.delete(place)
    this.#held -= bytes
    const woken = this.#waiting
    this.#waiting = []
    for (const wake of woken) wake()
  }
}

/** What one call holds of the room. */
export class AnswerPlace implements Disposable {
  readonly #room: AnswerRoom
  readonly #signal: AbortSignal
  #bytes = 0

  constructor(room: AnswerRoom, signal: AbortSignal) {
    this.#room = room
    this.#signal = signal
  }

  /** Waits until there is room for so many bytes more. Throws the signal's reason. */
  async take(bytes: number): Promise<void> {
    await this.#room.take(this, bytes, this.#signal)
    this.#bytes += bytes
  }

  [Symbol.dispose](): void {
    this.#room.leave(this, this.#bytes)
    this.#bytes = 0
  }
}
