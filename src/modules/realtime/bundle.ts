import type { Event, EventBatch } from '#core/answers.ts'

/**
 * Frames in a reader's order, with their bytes. Readers with the same frames share a bundle, so that the backlog of a
 * thousand slow readers exists once.
 */
export class Bundle implements EventBatch {
  readonly #before: Bundle | null
  readonly #frame: EventBatch | null
  readonly #next = new Map<EventBatch, Bundle>()
  #bytes: Buffer | null = null

  constructor(before: Bundle | null = null, frame: EventBatch | null = null) {
    this.#before = before
    this.#frame = frame
  }

  /** Returns the bundle extended by a frame. */
  add(frame: EventBatch): Bundle {
    const cached = this.#next.get(frame)
    if (cached) return cached
    const next = new Bundle(this, frame)
    this.#next.set(frame, next)
    return next
  }

  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.concat(Bundle.#framesOf(this).map(({ bytes }) => bytes)))
  }

  events(): Event[] {
    return Bundle.#framesOf(this).flatMap((frame) => frame.events())
  }

  static #framesOf(last: Bundle): EventBatch[] {
    const frames: EventBatch[] = []
    for (let at: Bundle | null = last; at !== null; at = at.#before) if (at.#frame) frames.push(at.#frame)
    return frames.toReversed()
  }
}
