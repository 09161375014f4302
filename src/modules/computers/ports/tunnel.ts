import { Duplex } from 'node:stream'
import type { AskedStream } from '#daemon-protocol/link.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { type Incoming, LinkLost, StreamReset } from '#packages/mux/stream.ts'
import type { Links } from '../link/links.ts'
import type { PreviewAddress } from './address.ts'

const DIAL_MS = 15_000

/** Refuses with 502 if nothing listens, 504 without a response. */
export async function dial(links: Links, { computerId, port }: PreviewAddress): Promise<Tunnel> {
  using limit = links.limit(computerId, NEVER, Math.min(DIAL_MS, links.limits.answerMs))
  try {
    const stream = await links.open(computerId, 'ports.dial', { port }, { signal: limit.signal })
    const items = stream[Symbol.asyncIterator]()
    const first = await items.next()
    if (first.done === true || first.value.type !== 'event') {
      await stream.output
      return refuse('upstream_error')
    }
    return new Tunnel(stream, items)
  } catch (cause) {
    const error = limit.reasonFor(cause)
    const isAway = error instanceof Refusal && (error.code === 'computer_offline' || error.code === 'timeout')
    if (isAway || error instanceof LinkLost)
      return refuse('timeout', {
        message: 'The computer isn’t connected.',
        ...(error instanceof Refusal && error.details && { details: error.details }),
      })
    if (error instanceof StreamReset)
      return refuse('upstream_error', { message: 'The connection to the port was closed.' })
    throw error
  }
}

const NEVER = new AbortController().signal

export class Tunnel extends Duplex {
  readonly #stream: AskedStream<'ports.dial'>
  readonly #items: AsyncIterator<Incoming>
  #reading = false

  constructor(stream: AskedStream<'ports.dial'>, items: AsyncIterator<Incoming>) {
    super({ allowHalfOpen: true })
    this.#stream = stream
    this.#items = items
  }

  override _read(): void {
    if (this.#reading) return
    this.#reading = true
    this.#pull().then(
      () => (this.#reading = false),
      (error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error))),
    )
  }

  async #pull(): Promise<void> {
    for (;;) {
      const { value, done } = await this.#items.next()
      if (done === true || value.type === 'finished') return void this.push(null)
      if (value.type === 'bytes' && !this.push(Buffer.from(value.bytes))) return
    }
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#stream.write(bytes).then(() => done(), done)
  }

  override _final(done: () => void): void {
    this.#stream.finish()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stream.reset('the connection is closed')
    done(error)
  }
}
