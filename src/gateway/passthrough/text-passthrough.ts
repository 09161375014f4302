import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Reply } from '#core/http/exchange.ts'
import { TransportFailed } from '../providers/transport/transport.ts'
import { type PassthroughFormat, producedCharacters } from './formats/format.ts'
import { type Reading, emptyReading } from '../model/in-progress.ts'
import { Ending, readEnding } from './ending.ts'
import { Frames } from './frames.ts'
import { eventsFromEnd } from '../wire/streams/events-from-end.ts'
import { fault, readFault } from '../wire/faults/faults.ts'
import { unreadableBody, unreadableHead } from '../wire/unreadable.ts'
import { isObject, parseJson } from '../model/json.ts'
import type { AnswerInProgress, AttemptListener } from '../model/in-progress.ts'
import type { Redraft } from './redraft.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'

/**
 * A whole JSON answer up to this size is read before it is forwarded, so that a truncated one can be retried elsewhere.
 */
const READ_FIRST = 1 << 20
const MAX_GATHERED = 32 << 20
export const ERROR_BODY = 65_536
export const STALL_MS = 300_000

const HEAD = 4096
const ERROR_FIRST =
  /^(?:\s|:[^\n]*\n|event: ?ping\n|data:[ \t]*\{\s*"type"\s*:\s*"ping"[^\n]*\n)*(?:event: ?error\b|data:[ \t]*\{\s*"(?:error"\s*:\s*[{"]|type"\s*:\s*"error"))/
const MAX_UNSAID = 65_536

const NO_FRAMES = new Frames()

type Mode = 'head' | 'error' | 'whole' | 'large' | 'events'

/** Passes one answer to the client unchanged, and reads usage and errors from it. */
export class TextPassthrough implements AnswerInProgress, Dispatcher.DispatchHandler {
  readonly #attempt: AttemptListener
  readonly #response: Reply
  readonly #format: PassthroughFormat
  readonly #streaming: boolean
  readonly #redraft: Redraft | null
  #frames: Frames = NO_FRAMES
  #ending: Ending | null = null
  #controller: Dispatcher.DispatchController | null = null
  #mode: Mode = 'head'
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #parts: Buffer[] = []
  #size = 0
  #gathered: boolean | null = null
  #firstByteAt = 0
  #head = ''
  #over = false
  #resume: (() => void) | null = null
  #stall: NodeJS.Timeout | null = null

  constructor(
    attempt: AttemptListener,
    response: Reply,
    format: PassthroughFormat,
    streaming: boolean,
    redraft: Redraft | null,
  ) {
    this.#attempt = attempt
    this.#response = response
    this.#format = format
    this.#streaming = streaming
    this.#redraft = redraft
  }

  get begun(): boolean {
    return this.#mode === 'large' || (this.#mode === 'events' && this.#firstByteAt > 0)
  }

  /** True if the output so far ends inside an event: nothing may be written after it. */
  get cut(): boolean {
    return this.#frames.cut
  }

  leave(): { reading: Reading; characters: number } {
    const reading = this.#mode === 'events' ? this.#format.readStream(this.#head, this.#frames.tail()) : emptyReading()
    const characters = this.characters
    this.#finish()
    this.#controller?.abort(new Error('the client left'))
    return { reading, characters }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#over) controller.abort(new Error('the client left'))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
    const why = unreadableHead(status, headers)
    if (why !== null) return this.#refuse(controller, why)
    const type = headers['content-type']
    if (status >= 300) this.#mode = 'error'
    else if (this.#streaming && type !== undefined && /^text\/event-stream/i.test(type)) {
      this.#mode = 'events'
      this.#frames = new Frames()
    } else this.#mode = 'whole'
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    switch (this.#mode) {
      case 'events': {
        const out = this.#frames.push(chunk)
        if (out !== null) this.#events(controller, out)
        return
      }
      case 'large':
        this.#ending!.push(chunk)
        this.#size += chunk.length
        return this.#write(controller, chunk)
      case 'whole':
        this.#parts.push(chunk)
        this.#size += chunk.length
        if (this.#size <= READ_FIRST) return
        if (!this.#streaming) return this.#gathers(controller) ? undefined : this.#goLarge(controller)
        // Not a stream, and other answers aren't buffered without a limit.
        return this.#refuse(controller, unreadableBody(this.#headers, Buffer.concat(this.#parts), 'an event stream'))
      default:
        this.#parts.push(chunk)
        this.#size += chunk.length
        if (this.#size <= ERROR_BODY || this.#over) return
        this.#fail(this.#refused())
        this.#parts = []
        controller.abort(new Error('too long an error'))
    }
  }

  onResponseEnd(): void {
    if (this.#over) return
    switch (this.#mode) {
      case 'events':
        return this.#endOfEvents()
      case 'large':
        this.#finish()
        this.#response.end()
        return this.#attempt.ended(readEnding(this.#format, this.#ending!.bytes()), null, this.#firstByteAt, 0)
      case 'whole':
        return this.#endOfWhole()
      default:
        return this.#fail(this.#refused())
    }
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return
    const why = faultOf(error, this.#mode !== 'head')
    if (!this.begun) return this.#fail(why)
    const reading = this.#format.readStream(this.#head, this.#frames.tail())
    this.#finish()
    // Bytes after the last whole event are dropped, so that the client can read the next frame.
    if (this.#mode === 'large') this.#response.destroy()
    this.#attempt.ended(reading, why, this.#firstByteAt, this.characters)
  }

  #events(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    let events = bytes
    if (this.#firstByteAt === 0) {
      // Comments and pings aren't content: until then another candidate may be tried.
      if (!this.#opens(events)) return
      events = this.#parts.length === 1 ? events : Buffer.concat(this.#parts)
      this.#parts = []
      // An error instead of an answer: nothing was shown yet, so another candidate may be tried.
      if (ERROR_FIRST.test(bytes.toString('utf8', 0, HEAD))) {
        const { fault: why } = this.#format.readStream('', this.#frames.tail())
        this.#finish()
        controller.abort(new Error('the provider failed'))
        return this.#attempt.failed(why ?? { kind: 'server_error', message: 'The provider failed.' })
      }
      this.#firstByteAt = performance.now()
      this.#head = withoutComments(bytes.toString('utf8', 0, MAX_UNSAID))
      this.#attempt.begin('text/event-stream; charset=utf-8', null, this.#headers)
    }
    // The input's usage is in the first events, which may arrive in small pieces.
    else if (this.#head.length < HEAD) this.#head += events.toString('utf8', 0, HEAD - this.#head.length)
    const out = this.#redraft === null ? events : this.#redraft.events(events)
    if (out.length > 0) this.#write(controller, out)
  }

  /** True if these events have the first content. Earlier bytes are held until then, up to a limit. */
  #opens(events: Buffer): boolean {
    this.#size += events.length
    if (this.#size > MAX_UNSAID) this.#parts = []
    this.#parts.push(events)
    return speaks(events.toString())
  }

  #write(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#response.write(bytes)) return
    controller.pause()
    this.#stall ??= setTimeout(() => this.#response.destroy(), STALL_MS).unref()
    if (this.#resume !== null) return
    this.#resume = () => {
      if (this.#stall) clearTimeout(this.#stall)
      this.#stall = null
      if (!this.#over) controller.resume()
    }
    this.#response.on('drain', this.#resume)
  }

  #endOfEvents(): void {
    const rest = this.#frames.rest()
    // A complete event without its blank line is forwarded with one; a partial event is dropped.
    if (rest !== null && this.#controller !== null && isWhole(rest))
      this.#events(this.#controller, Buffer.concat([rest, Buffer.from('\n\n')]))
    if (this.#over) return
    if (this.#firstByteAt === 0)
      return this.#fail({ kind: 'garbage', message: 'The provider returned an empty stream.' })
    const reading = this.#format.readStream(this.#head, this.#frames.tail())
    this.#finish()
    const isCut =
      reading.ended || reading.fault !== null ? null : fault('garbage', 'The provider’s response ended early.', null)
    const whole = reading.ended && reading.usage !== null
    this.#attempt.ended(reading, isCut, this.#firstByteAt, whole ? 0 : this.characters)
  }

  #endOfWhole(): void {
    const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)
    // In latin1 every byte keeps its position, and the searched text is ASCII.
    const text = bytes.toString('latin1')
    const reading = this.#format.readEnd(text) ?? this.#readWhole(text)
    if (reading?.fault) return this.#fail(reading.fault)
    if (reading === null || this.#streaming)
      return this.#fail(unreadableBody(this.#headers, bytes, this.#streaming ? 'an event stream' : 'JSON'))
    this.#finish()
    if (this.#redraft?.whole) {
      const out = this.#redraft.whole(bytes)
      this.#attempt.begin('application/json', out.length, this.#headers)
      this.#response.end(out)
      return this.#attempt.ended(reading, null, performance.now(), 0)
    }
    this.#attempt.begin('application/json', bytes.length, this.#headers)
    this.#response.end(bytes)
    this.#attempt.ended(reading, null, performance.now(), 0)
  }

  #readWhole(text: string): Reading | null {
    const json = parseJson(text)
    return isObject(json) ? this.#format.readWhole(json) : null
  }

  #gathers(controller: Dispatcher.DispatchController): boolean {
    this.#gathered ??= this.#redraft?.wantsWhole?.(Buffer.concat(this.#parts)) === true
    if (!this.#gathered || this.#size <= MAX_GATHERED) return this.#gathered
    this.#refuse(controller, fault('garbage', 'The provider’s response is too large.', null))
    return true
  }

  #goLarge(controller: Dispatcher.DispatchController): void {
    this.#mode = 'large'
    this.#firstByteAt = performance.now()
    const length = Number(this.#headers['content-length'])
    this.#attempt.begin('application/json', Number.isInteger(length) ? length : null, this.#headers)
    const bytes = Buffer.concat(this.#parts)
    this.#parts = []
    this.#ending = new Ending()
    this.#ending.push(bytes)
    this.#write(controller, bytes)
  }

  #refused(): UpstreamFault {
    return readFault(this.#status, this.#headers, Buffer.concat(this.#parts).toString())
  }

  #refuse(controller: Dispatcher.DispatchController, why: UpstreamFault): void {
    if (this.#over) return
    this.#parts = []
    this.#fail(why)
    controller.abort(new Error('nothing can be read of it'))
  }

  #fail(why: UpstreamFault): void {
    this.#finish()
    this.#attempt.failed(why)
  }

  #finish(): void {
    this.#over = true
    if (this.#stall) clearTimeout(this.#stall)
    if (this.#resume) this.#response.off('drain', this.#resume)
  }

  get characters(): number {
    // A large answer counts fully as text if its format produces text.
    if (this.#mode === 'large') return this.#format.limitFields.length > 0 ? this.#size : 0
    if (this.#mode !== 'events' || this.#frames.tailBytes === 0) return 0
    return Math.ceil((producedCharacters(this.#frames.tail()) * this.#frames.bytes) / this.#frames.tailBytes)
  }
}

const withoutComments = (events: string): string =>
  events.startsWith(':') || events.includes('\n:') ? events.replaceAll(/^:[^\n]*\n/gm, '') : events

const speaks = (events: string): boolean => /^data:[ \t]*(?!\{\s*"type"\s*:\s*"ping")[^ \t\n]/m.test(events)

function isWhole(rest: Buffer): boolean {
  const data = eventsFromEnd(rest.toString()).next().value
  return data === '[DONE]' || isObject(parseJson(data ?? ''))
}

/** Names no address. `hasHead`: after the head of an answer. */
export function faultOf(error: Error & { code?: string; cause?: unknown }, hasHead = false): UpstreamFault {
  if (error instanceof TransportFailed) return error.fault
  switch (error.code) {
    case 'UK_ADDRESS_REFUSED':
      return {
        kind: 'unreachable',
        lasts: true,
        message:
          'The provider has a private address, which isn’t allowed. An administrator can allow it with UK_UPSTREAM_ALLOW.',
      }
    case 'UK_ANSWER_TIMEOUT':
    case 'ETIMEDOUT':
      return { kind: 'timeout', message: 'The provider took too long to respond.' }
    case 'UK_CONNECTION_CLOSED':
    case 'ECONNRESET':
    case 'EPIPE':
      return {
        kind: 'server_error',
        message: `The provider closed the connection${hasHead ? ' before its response was complete' : ''}.`,
      }
    case 'UK_ANSWER_TOO_LARGE':
      return { kind: 'garbage', message: 'The provider’s response is too large.' }
    case 'UK_NO_HTTP':
      return { kind: 'garbage', message: 'The provider’s response isn’t valid HTTP.' }
    default:
      return { kind: 'unreachable', message: 'The provider can’t be reached.' }
  }
}
