/**
 * Memory shared by buffered provider responses in this process (base64 images, transcripts). If it is full, readers
 * wait, and with them the providers; the longest-running one never waits, so there is always progress. One per process.
 */
export class AnswerRoom {
  readonly #limit: number
  #bytes = 0
  readonly #places = new Map<AnswerPlace, number>()
  #waiting: (() => void)[] = []

  constructor(limitBytes: number) {
    this.#limit = limitBytes
  }

  get heldBytes(): number {
    return this.#bytes
  }

  place(signal: AbortSignal): AnswerPlace {
    return new AnswerPlace(this, signal)
  }

  async take(place: AnswerPlace, bytes: number, signal: AbortSignal): Promise<void> {
    const goesOn = (): void => {
      signal.throwIfAborted()
      // A call that left must not take room again: nothing would release it.
      if (place.left) throw new Error('The call that this answer was for is over.')
    }
    goesOn()
    if (!this.#places.has(place)) this.#places.set(place, 0)
    while (this.#bytes + bytes > this.#limit && this.#places.keys().next().value !== place) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
      goesOn()
    }
    this.#places.set(place, this.#places.get(place)! + bytes)
    this.#bytes += bytes
  }

  leave(place: AnswerPlace): void {
    this.#bytes -= this.#places.get(place) ?? 0
    this.#places.delete(place)
    const waiters = this.#waiting
    this.#waiting = []
    for (const wake of waiters) wake()
  }
}

export class AnswerPlace implements Disposable {
  readonly #room: AnswerRoom
  readonly #signal: AbortSignal
  #hasLeft = false

  constructor(room: AnswerRoom, signal: AbortSignal) {
    this.#room = room
    this.#signal = signal
  }

  get left(): boolean {
    return this.#hasLeft
  }

  take(bytes: number): Promise<void> {
    return this.#room.take(this, bytes, this.#signal)
  }

  [Symbol.dispose](): void {
    this.#hasLeft = true
    this.#room.leave(this)
  }
}
