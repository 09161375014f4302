import {
  CHANNELS,
  FINISHED,
  FRAME,
  type Frame,
  HEAD_BYTES,
  LOST,
  SENT_DATA,
  Violation,
  decodeFrame,
  encodeFrame,
  readJson,
  reasonBytes,
  writeJson,
} from './frames.ts'
import { type AskedStream, type Channel, LinkLost, type Stream, StreamReset } from './stream.ts'
import { type Line, StreamEnd } from './stream-end.ts'
import { RoundTrip } from './window.ts'

/** Carries whole frames in order. */
export interface Pipe {
  /** `sent` is called when the frame's bytes may be reused, or never. */
  send(frame: Buffer, sent?: () => void): void
  /** Unsent bytes. The pipe calls `Mux.flush` when they decrease. */
  readonly bufferedAmount: number
  close(code: number, reason: string): void
}

/** The content of an OPEN. */
export interface Request {
  op: string
  input: unknown
}

/** How errors cross a link. */
export interface LinkErrors {
  /** The JSON of an error that `answer` threw; for an unexpected one, without its details. */
  toJson(error: unknown): object
  /** The error that the other end's JSON describes. The other end may send anything. */
  fromJson(json: Record<string, unknown>): Error
  /** False: the error is a fault of this program. */
  isExpected(error: unknown): boolean
  tooManyStreams(): Error
  tooLarge(): Error
}

export interface MuxOptions<R extends Request = Request> {
  /** Parity of the numbers of streams opened by this end. */
  opens: 'even' | 'odd'
  errors: LinkErrors
  /** Receives the other end's first frame. Throws `Violation` if it is invalid. */
  onHello(hello: Record<string, unknown>): void
  /** Checks more fields of an OPEN than `op` and `input`. */
  readRequest?(json: Request & Record<string, unknown>): R
  /** Answers a request. Errors are sent to the other end. */
  answer(request: R, stream: Stream, call: { signal: AbortSignal }): Promise<object>
  /** An unexpected error of `answer`, or of the link itself if `request` is null, which closes it. */
  onFault?(error: unknown, request: R | null): void
  /** Called once, after `close`, a violation (4002) or the loss of the pipe. */
  onClose?(code: number, reason: string): void
  /** ms */
  now?: () => number
}

export const CLOSE = {
  replaced: 4001,
  violation: 4002,
  silent: 4003,
  unauthorized: 4004,
  lost: 1006,
  restart: 1012,
} as const

export const MAX_STREAMS = 1_024
/** Bulk data waits while the pipe has more unsent bytes, because they delay every later frame. */
const BULK_WAITS = 65_536
const SMALL_WAITS = 1_048_576
/** Small frames in a row while bulk data waits. */
const SMALL_IN_A_ROW = 16
/** Control frames alone reach this only if the other end doesn't read. */
const UNREAD = 8_388_608
/** Larger payloads are written to reused buffers. */
const POOLED = 8_192
const MAX_ROOMS = 8
/** The total growth of a link's windows, in bytes. */
const GROWTH = 16_777_216

/** Streams with credit over one pipe. Sets no timers. */
export class Mux<R extends Request = Request> implements Line {
  readonly #pipe: Pipe
  readonly #options: MuxOptions<R>
  readonly now: () => number
  readonly #streams = new Map<number, StreamEnd>()
  /** Send queues. */
  readonly #small: StreamEnd[] = []
  readonly #bulk: StreamEnd[] = []
  #inARow = 0
  #sending = false
  #nextId: number
  /** The other end's highest stream ID. */
  #highest = 0
  #theirs = 0
  #greeted = false
  #closed = false
  #grown = 0
  /** Reused, because bulk frames would be megabytes of garbage. */
  readonly #rooms: Buffer[] = []
  readonly #roundTrip = new RoundTrip()
  /** Counts received frames, to detect silence. */
  heard = 0

  constructor(pipe: Pipe, options: MuxOptions<R>) {
    this.#pipe = pipe
    this.#options = options
    this.#nextId = options.opens === 'even' ? 2 : 1
    this.now = options.now ?? (() => performance.now())
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Open streams of both ends. */
  get streams(): number {
    return this.#streams.size
  }

  /** Must be sent first. */
  hello(hello: object): void {
    this.send(encodeFrame(FRAME.hello, 0, 0, 0, writeJson(hello)!))
  }

  open(request: R): AskedStream {
    if (this.#closed) throw new LinkLost('the link is closed')
    const { errors } = this.#options
    if (this.#streams.size - this.#theirs >= MAX_STREAMS) throw errors.tooManyStreams()
    const json = writeJson(request)
    if (json === null) throw errors.tooLarge()
    const end = new StreamEnd(this.#nextId, this)
    this.#nextId += 2
    const output = new Promise<object>((resolve, reject) => {
      end.settle = {
        end: (answer) => readAnswer(answer, resolve as (output: unknown) => void, reject, errors),
        fail: reject,
      }
    })
    output.catch(() => {})
    this.#streams.set(end.id, end)
    this.send(encodeFrame(FRAME.open, 0, end.id, 0, json))
    return Object.assign(end, { output })
  }

  ping(): void {
    this.send(encodeFrame(FRAME.ping, 0, 0, this.#roundTrip.begin(this.now())))
  }

  /** Never throws. */
  receive(message: Buffer): void {
    if (this.#closed) return
    try {
      this.#take(decodeFrame(message))
      this.heard++
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (!(error instanceof Violation)) this.#options.onFault?.(error, null)
    this.close(CLOSE.violation, error instanceof Violation ? error.message : 'it could not be taken')
  }

  #take(frame: Frame): void {
    const { type, stream, payload } = frame
    if (type === FRAME.hello) return this.#hello(payload)
    if (!this.#greeted) throw new Violation('a link begins with HELLO')
    if (type === FRAME.ping) return this.send(encodeFrame(FRAME.pong, 0, 0, frame.offset))
    if (type === FRAME.pong) return void (this.#roundTrip.end(frame.offset, this.now()) && this.ping())
    if (type === FRAME.open) return this.#opened(stream, payload)
    const ours = stream % 2 === this.#nextId % 2
    if (ours ? stream >= this.#nextId : stream > this.#highest)
      throw new Violation('a frame names a stream that was never opened')
    const end = this.#streams.get(stream)
    // Sent before the sender knew that the stream was over.
    if (end === undefined) return
    if (type === FRAME.data) {
      const channel = (frame.flags & (CHANNELS - 1)) as Channel
      if (payload.length > 0 || (frame.flags & FINISHED) === 0) end.receiveBytes(channel, frame.offset, payload)
      if ((frame.flags & FINISHED) !== 0) end.receiveFinish()
    } else if (type === FRAME.event) end.receiveEvent(readJson(payload), payload.length)
    else if (type === FRAME.credit) end.credit(payload.readUInt32BE(0))
    else if (type === FRAME.reset) {
      const reason = payload.toString()
      end.close((frame.flags & LOST) === 0 ? new StreamReset(reason) : new LinkLost(reason))
    } else if (ours) end.receiveEnd(payload)
    else throw new Violation('a stream was ended by the end that asked')
  }

  #hello(payload: Buffer): void {
    if (this.#greeted) throw new Violation('HELLO came twice')
    const hello = readJson(payload)
    this.#greeted = true
    this.#options.onHello(hello)
  }

  #opened(id: number, payload: Buffer): void {
    if (id % 2 === this.#nextId % 2) throw new Violation('a stream was opened with the other end’s number')
    if (id <= this.#highest) throw new Violation('a stream was opened twice')
    if (this.#theirs >= MAX_STREAMS) throw new Violation('too many streams are open')
    const json = readJson(payload) as Request & Record<string, unknown>
    if (typeof json.op !== 'string') throw new Violation('an OPEN names no operation')
    this.#highest = id
    this.#theirs++
    const { readRequest } = this.#options
    const request = readRequest ? readRequest(json) : ({ op: json.op, input: json.input } as R)
    const end = new StreamEnd(id, this)
    const gone = new AbortController()
    end.settle = { end: () => {}, fail: (error) => gone.abort(error) }
    this.#streams.set(id, end)
    void this.#answer(request, end, gone.signal)
  }

  async #answer(request: R, end: StreamEnd, signal: AbortSignal): Promise<void> {
    const { errors } = this.#options
    let answer: Buffer | null
    try {
      answer = writeJson({ output: await this.#options.answer(request, end, { signal }) })
    } catch (error) {
      if (end.over) return
      if (error instanceof LinkLost || error instanceof StreamReset) return this.reset(end, error)
      if (!errors.isExpected(error)) this.#options.onFault?.(error, request)
      answer = writeJson({ error: errors.toJson(error) })
    }
    end.end(answer ?? writeJson({ error: errors.toJson(null) })!)
  }

  sendData(flags: number, stream: number, offset: number, bytes: Uint8Array): void {
    if (bytes.length < POOLED) return this.send(encodeFrame(FRAME.data, flags, stream, offset, bytes))
    const room = this.#rooms.pop() ?? Buffer.allocUnsafeSlow(HEAD_BYTES + SENT_DATA)
    const kept = () => void (this.#rooms.length < MAX_ROOMS && this.#rooms.push(room))
    this.send(encodeFrame(FRAME.data, flags, stream, offset, bytes, room), kept)
  }

  send(frame: Buffer, sent?: () => void): void {
    if (this.#closed) return
    this.#pipe.send(frame, sent)
    if (this.#pipe.bufferedAmount > UNREAD) this.close(CLOSE.violation, 'the other end stopped reading')
  }

  wants(end: StreamEnd): void {
    this.#queue(end)
    this.flush()
  }

  reset(end: StreamEnd, error: StreamReset | LinkLost): void {
    this.send(encodeFrame(FRAME.reset, error instanceof LinkLost ? LOST : 0, end.id, 0, reasonBytes(error.message)))
    end.close(error)
  }

  gone(end: StreamEnd): void {
    if (this.#streams.delete(end.id) && end.id % 2 !== this.#nextId % 2) this.#theirs--
  }

  reserve(bytes: number): boolean {
    if (this.#grown + bytes > GROWTH) return false
    this.#grown += bytes
    return true
  }

  release(bytes: number): void {
    this.#grown -= bytes
  }

  roundTrip(): number {
    return this.#roundTrip.ms
  }

  #queue(end: StreamEnd): void {
    if (end.queued) return
    end.queued = true
    if (end.urgent) this.#small.push(end)
    else this.#bulk.push(end)
  }

  /** Sends small data, and bulk data while the pipe is nearly empty. */
  flush(): void {
    // A sent frame may be answered immediately, and the answer may call `flush`.
    if (this.#sending) return
    this.#sending = true
    try {
      for (let end = this.#next(); end !== undefined; end = this.#next()) {
        end.queued = false
        if (!end.ready) continue
        end.sendOne()
        if (end.ready) this.#queue(end)
      }
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#sending = false
    }
  }

  #next(): StreamEnd | undefined {
    if (this.#closed) return undefined
    const waiting = this.#pipe.bufferedAmount
    const bulk = this.#bulk.length > 0 && waiting < BULK_WAITS
    if (this.#small.length > 0 && waiting < SMALL_WAITS && !(bulk && this.#inARow >= SMALL_IN_A_ROW)) {
      this.#inARow++
      return this.#small.shift()
    }
    this.#inARow = 0
    return bulk ? this.#bulk.shift() : undefined
  }

  close(code: number, reason: string): void {
    if (this.#closed) return
    this.#end(code, reason)
    this.#pipe.close(code, reason)
  }

  /** Called when the pipe is lost. */
  lost(code: number = CLOSE.lost, reason = 'the connection was lost'): void {
    if (!this.#closed) this.#end(code, reason)
  }

  #end(code: number, reason: string): void {
    this.#closed = true
    const lost = new LinkLost(reason)
    for (const end of this.#streams.values()) end.close(lost)
    this.#small.length = this.#bulk.length = 0
    this.#options.onClose?.(code, reason)
  }
}

function readAnswer(
  json: Buffer,
  resolve: (output: unknown) => void,
  reject: (error: Error) => void,
  errors: LinkErrors,
): void {
  const { output, error } = readJson(json)
  if (output !== undefined) return resolve(output)
  if (typeof error !== 'object' || error === null) throw new Violation('an END carries neither output nor error')
  reject(errors.fromJson(error as Record<string, unknown>))
}
