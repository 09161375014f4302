import type { ViewerEvent } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import type { z } from 'zod'

type Event = z.infer<typeof ViewerEvent>
/** The computer types a repeated number only once. */
export type NumberedInput = Extract<Event, { type: 'input' }> & { viewer: string; seq: number }
export type Size = Extract<Event, { type: 'resize' }>

const MAX_BYTES = 262_144
const MAX_EVENTS = 1_000

/** Unacknowledged input, sent again over the next link, so that no keystroke is lost or repeated. */
export class PendingInput {
  #stream: Pick<Stream, 'event'>
  #size: Size | null = null
  #events: NumberedInput[] = []
  #bytes = 0

  constructor(stream: Pick<Stream, 'event'>) {
    this.#stream = stream
  }

  get isFull(): boolean {
    return this.#bytes >= MAX_BYTES || this.#events.length >= MAX_EVENTS
  }

  add(event: NumberedInput | Size): void {
    if (event.type === 'resize') this.#size = event
    else {
      this.#events.push(event)
      this.#bytes += event.data.length
    }
    this.#stream.event(event)
  }

  /** Removes this input and lower numbers of the same viewer. */
  acknowledge(viewer: unknown, seq: unknown): void {
    this.#events = this.#events.filter((one) => one.viewer !== viewer || !(one.seq <= Number(seq)))
    this.#bytes = this.#events.reduce((sum, { data }) => sum + data.length, 0)
  }

  resend(stream: Pick<Stream, 'event'>): void {
    this.#stream = stream
    if (this.#size !== null) stream.event(this.#size)
    for (const event of this.#events) stream.event(event)
  }
}
