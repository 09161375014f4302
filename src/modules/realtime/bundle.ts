import type { Event, EventBatch } from '#core/answers.ts'

/**
 * Frames in the order in which a reader gets them, and with them their bytes. Readers who get the same ones hold the same
 * bundle, so that what waits for a thousand who read slowly is there once.
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

  /** The bundle with a further frame behind it. */
  add(frame: EventBatch): Bundle {
    const known = this.#next.get(frame)
    if (known) return known
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
