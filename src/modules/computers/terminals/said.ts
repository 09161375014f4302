import type { ViewerEvent } from '#daemon-protocol/operations.ts'
import type { Stream } from '#daemon-protocol/stream.ts'
import type { z } from 'zod'

type Event = z.infer<typeof ViewerEvent>
/** Every input has a number: the computer types what comes twice once. */
export type Numbered = Extract<Event, { type: 'input' }> & { viewer: string; seq: number }
export type Size = Extract<Event, { type: 'resize' }>

const MOST_BYTES = 262_144
const MOST = 1_000

/**
 * The input of a viewer that the computer may not have: it goes out again over the next link, so that a link that
 * breaks neither loses a key nor types it twice.
 */
export class Said {
  #stream: Pick<Stream, 'event'>
  #size: Size | null = null
  #waiting: Numbered[] = []
  #bytes = 0

  constructor(stream: Pick<Stream, 'event'>) {
    this.#stream = stream
  }

  /** Whether so much waits that its viewer should, too. */
  get isFull(): boolean {
    return this.#bytes >= MOST_BYTES || this.#waiting.length >= MOST
  }

  add(event: Numbered | Size): void {
    if (event.type === 'resize') this.#size = event
    else {
      this.#waiting.push(event)
      this.#bytes += event.data.length
    }
    this.#stream.event(event)
  }

  /** Says that the computer has this input, and all that this viewer numbered lower. */
  typed(viewer: unknown, seq: unknown): void {
    this.#waiting = this.#waiting.filter((one) => one.viewer !== viewer || !(one.seq <= Number(seq)))
    this.#bytes = this.#waiting.reduce((sum, { data }) => sum + data.length, 0)
  }

  /** Sends the input again over another link, whose other end knows nothing of this viewer. */
  goOn(stream: Pick<Stream, 'event'>): void {
    this.#stream = stream
    if (this.#size !== null) stream.event(this.#size)
    for (const event of this.#waiting) stream.event(event)
  }
}
