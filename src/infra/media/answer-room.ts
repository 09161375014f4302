/**
 * The memory that answers of vendors take together in this process while they have to be whole: pictures in base64,
 * transcripts. Where it is full, whoever reads on waits, and so does the vendor; the one that has been reading longest never
 * does, so that somebody always comes to an end. Each server process has a room of its own.
 */
export class AnswerRoom {
  readonly #limit: number
  #held = 0
  /** The bytes that each place holds; the call that began first is in front. */
  readonly #places = new Map<AnswerPlace, number>()
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

  /** Called by `AnswerPlace` alone. */
  async take(place: AnswerPlace, bytes: number, signal: AbortSignal): Promise<void> {
    const goesOn = (): void => {
      signal.throwIfAborted()
      // Who has left would come back for good: nobody is there to leave a second time.
      if (place.left) throw new Error('The call that this answer was for is over.')
    }
    goesOn()
    if (!this.#places.has(place)) this.#places.set(place, 0)
    while (this.#held + bytes > this.#limit && this.#places.keys().next().value !== place) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
      goesOn()
    }
    this.#places.set(place, this.#places.get(place)! + bytes)
    this.#held += bytes
  }

  /** Called by `AnswerPlace` alone. */
  leave(place: AnswerPlace): void {
    this.#held -= this.#places.get(place) ?? 0
    this.#places.delete(place)
    const waiters = this.#waiting
    this.#waiting = []
    for (const wake of waiters) wake()
  }
}

/** The part of the room that one call holds. */
export class AnswerPlace implements Disposable {
  readonly #room: AnswerRoom
  readonly #signal: AbortSignal
  #left = false

  constructor(room: AnswerRoom, signal: AbortSignal) {
    this.#room = room
    this.#signal = signal
  }

  get left(): boolean {
    return this.#left
  }

  /** Waits until there is room for so many bytes more. Throws the signal's reason, and once the place was left. */
  take(bytes: number): Promise<void> {
    return this.#room.take(this, bytes, this.#signal)
  }

  [Symbol.dispose](): void {
    this.#left = true
    this.#room.leave(this)
  }
}
