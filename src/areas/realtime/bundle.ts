/**
 * Frames in the order in which a reader gets them, and with them their bytes. Readers who get the same ones hold the same
 * bundle, so that what waits for a thousand who read slowly is there once.
 */
export class Bundle {
  readonly #before: Bundle | null
  readonly #frame: Buffer | null
  readonly #next = new Map<Buffer, Bundle>()
  #bytes: Buffer | null = null

  constructor(before: Bundle | null = null, frame: Buffer | null = null) {
    this.#before = before
    this.#frame = frame
  }

  /** This one and a frame behind it. */
  add(frame: Buffer): Bundle {
    const known = this.#next.get(frame)
    if (known) return known
    const next = new Bundle(this, frame)
    this.#next.set(frame, next)
    return next
  }

  bytes(): Buffer {
    return (this.#bytes ??= Buffer.concat(Bundle.#framesOf(this)))
  }

  static #framesOf(last: Bundle): Buffer[] {
    const frames: Buffer[] = []
    for (let at: Bundle | null = last; at !== null; at = at.#before) if (at.#frame) frames.push(at.#frame)
    return frames.toReversed()
  }
}
