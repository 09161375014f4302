import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Reply } from '#core/http/exchange.ts'
import { usageOf } from '#core/usage.ts'
import { type Reading, emptyReading } from '../model/in-progress.ts'
import { Ending } from './ending.ts'
import type { AnswerInProgress, AttemptListener } from '../model/in-progress.ts'
import { ERROR_BODY, STALL_MS, faultOf } from './text-passthrough.ts'
import { fault, readFault } from '../wire/faults/faults.ts'
import { unreadableBody, unreadableHead } from '../wire/unreadable.ts'
import type { MediaEvents } from './formats/format.ts'

/** Content types that pass unchanged. Any other type, such as HTML, becomes a byte stream that browsers don't run. */
const PASSED =
  /^(?:audio\/|video\/|image\/(?!svg)|application\/(?:json|x-ndjson|x-subrip)|text\/(?:plain|vtt|event-stream))/i

const MAX_GATHERED = 32 << 20

/** Statuses of a proxy in front of the provider, which may still be working on the request. */
const UNCLEAR: ReadonlySet<number> = new Set([502, 504])

export class BinaryPassthrough implements AnswerInProgress, Dispatcher.DispatchHandler {
  readonly #attempt: AttemptListener
  readonly #response: Reply
  readonly #read: (contentType: string, tail: string) => Reading
  readonly #asEvents: MediaEvents['write'] | null
  readonly #ending = new Ending()
  #controller: Dispatcher.DispatchController | null = null
  #headers: IncomingHttpHeaders = {}
  #status = 0
  #error: Buffer[] = []
  #errorSize = 0
  #firstByteAt = 0
  /** Buffers a whole answer for a client that was already sent the head of a stream; null: not needed. */
  #whole: Buffer[] | null = null
  #wholeSize = 0
  #last = ''
  #over = false
  #stall: NodeJS.Timeout | null = null
  /** Always 0: none of its bytes are counted as text. */
  readonly characters = 0

  constructor(
    attempt: AttemptListener,
    response: Reply,
    readEnd: (contentType: string, tail: string) => Reading,
    asEvents: MediaEvents['write'] | null,
  ) {
    this.#attempt = attempt
    this.#response = response
    this.#read = readEnd
    this.#asEvents = asEvents
  }

  get cut(): boolean {
    return this.#firstByteAt > 0 && !/(?:\n\n|\r\n\r\n|\r\r)$/.test(this.#last)
  }

  leave(): { reading: Reading; characters: number } {
    this.#finish()
    this.#controller?.abort(new Error('the client left'))
    if (this.#controller === null) return { reading: { ...emptyReading(), usage: usageOf({}) }, characters: 0 }
    // The answer was generated: a client that drops its last bytes still pays.
    const reading = this.#firstByteAt > 0 ? this.#read(this.#type, this.#tail) : { ...emptyReading(), unpriced: true }
    return { reading, characters: 0 }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#over) controller.abort(new Error('the client left'))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    this.#headers = headers
    const why = unreadableHead(status, headers)
    if (why === null || this.#over) return
    this.#finish()
    this.#attempt.failed(why, status < 300)
    controller.abort(new Error('nothing can be read of it'))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#status >= 300) {
      this.#error.push(chunk)
      this.#errorSize += chunk.length
      if (this.#errorSize <= ERROR_BODY || this.#over) return
      this.onResponseEnd()
      this.#error = []
      return controller.abort(new Error('too long an error'))
    }
    if (this.#gathers()) return this.#gather(controller, chunk)
    this.#begin()
    this.#ending.push(chunk)
    if (this.#isEvents) this.#last = (this.#last + chunk.toString('latin1', Math.max(0, chunk.length - 4))).slice(-4)
    // One network read may yield several chunks after a pause.
    if (this.#response.write(chunk) || this.#stall !== null) return
    controller.pause()
    this.#stall = setTimeout(() => this.#response.destroy(), STALL_MS).unref()
    this.#response.once('drain', () => {
      if (this.#stall) clearTimeout(this.#stall)
      this.#stall = null
      if (!this.#over) controller.resume()
    })
  }

  onResponseEnd(): void {
    if (this.#over) return
    this.#finish()
    if (this.#status >= 300) {
      const why = readFault(this.#status, this.#headers, Buffer.concat(this.#error).toString())
      return this.#attempt.failed(why, UNCLEAR.has(this.#status))
    }
    if (this.#gathers()) return this.#endOfWhole()
    this.#begin()
    this.#response.end()
    this.#attempt.ended(this.#read(this.#type, this.#tail), null, this.#firstByteAt, 0)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return
    this.#finish()
    const why = faultOf(error)
    if (this.#firstByteAt === 0) return this.#attempt.failed(why, this.#controller !== null)
    // A partial image has no frame for an error, so the connection is closed.
    this.#response.destroy()
    this.#attempt.ended({ ...emptyReading(), unpriced: true }, why, this.#firstByteAt, 0)
  }

  /** True if a whole answer must be written as events, because the client was sent the head of a stream. */
  #gathers(): boolean {
    if (this.#whole === null && this.#firstByteAt === 0 && this.#response.headersSent && !this.#isEvents)
      this.#whole = []
    return this.#whole !== null
  }

  #gather(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return
    this.#ending.push(chunk)
    this.#whole!.push(chunk)
    this.#wholeSize += chunk.length
    if (this.#wholeSize <= MAX_GATHERED) return
    this.#whole = []
    this.#finish()
    this.#attempt.failed(fault('garbage', 'The provider’s response is too large.', null), true)
    controller.abort(new Error('too long an answer'))
  }

  #endOfWhole(): void {
    const bytes = Buffer.concat(this.#whole!)
    const events = this.#asEvents?.(this.#headers['content-type'] ?? '', bytes) ?? null
    if (events === null) return this.#attempt.failed(unreadableBody(this.#headers, bytes, 'an event stream'), true)
    this.#firstByteAt = performance.now()
    this.#attempt.begin('text/event-stream; charset=utf-8', null, this.#headers)
    this.#response.end(events)
    this.#attempt.ended(this.#read(this.#type, this.#tail), null, this.#firstByteAt, 0)
  }

  get #isEvents(): boolean {
    return /^text\/event-stream/i.test(this.#headers['content-type'] ?? '')
  }

  get #tail(): string {
    return this.#ending.length === 0 ? '' : this.#ending.bytes().toString()
  }

  get #type(): string {
    const type = this.#headers['content-type'] ?? ''
    return PASSED.test(type) ? type : 'application/octet-stream'
  }

  #begin(): void {
    if (this.#firstByteAt > 0) return
    this.#firstByteAt = performance.now()
    const length = Number(this.#headers['content-length'])
    this.#attempt.begin(this.#type, Number.isInteger(length) ? length : null, this.#headers)
  }

  #finish(): void {
    this.#over = true
    if (this.#stall) clearTimeout(this.#stall)
  }
}
