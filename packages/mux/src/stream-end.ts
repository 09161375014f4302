import { FINISHED, FRAME, SENT_DATA, Violation, encodeFrame, writeJson } from './frames.ts'
import { Inbox } from './inbox.ts'
import { type Channel, type Incoming, LinkLost, type Stream, StreamReset } from './stream.ts'
import { type Budget, FIRST_WINDOW, FRAME_COST, Window } from './window.ts'

/** Streams with fewer waiting bytes are sent before others. */
const SMALL = 16_384
/** Limits of events that wait for credit. A sender beyond them ignores backpressure. */
const MAX_EVENTS = 4_096
const MAX_EVENT_BYTES = 1_048_576
const MAX_CREDIT = 2 ** 31

/** The link as its streams see it. */
export interface Line extends Budget {
  send(frame: Buffer): void
  sendData(flags: number, stream: number, offset: number, bytes: Uint8Array): void
  /** The stream has something to send, and credit for it. */
  wants(end: StreamEnd): void
  reset(end: StreamEnd, error: StreamReset | LinkLost): void
  gone(end: StreamEnd): void
}

interface Bytes {
  type: 'bytes'
  bytes: Uint8Array
  /** The number of its bytes already sent. */
  sent: number
  channel: Channel
  /** The offset of the next byte to send. */
  offset: number
  settle: { resolve(): void; reject(error: Error): void } | null
}
type Outgoing = Bytes | { type: 'event' | 'end'; json: Buffer } | { type: 'finish' }

/** One end of a stream: its outgoing queue and its inbox. */
export class StreamEnd implements Stream {
  readonly id: number
  readonly #line: Line
  readonly #inbox: Inbox
  #outgoing: Outgoing[] = []
  #waitingBytes = 0
  #waitingEvents = 0
  #waitingEventBytes = 0
  /** Callbacks waiting until no event is queued. */
  #tellTaken: (() => void)[] = []
  /** The bytes that may be sent. One frame may take it below zero. */
  #credit = FIRST_WINDOW
  /** Next offsets per channel, written and received. */
  #nextWritten: number[] = []
  #nextReceived: number[] = []
  #finishing = false
  #otherFinished = false
  /** Why nothing more can be sent. Null: open. */
  #over: Error | null = null
  /** Whether it is in the link's send queue. */
  queued = false
  /** Settles with the peer's answer, or the reason there is none. */
  settle: { end(answer: Buffer): void; fail(error: Error): void } | null = null

  constructor(id: number, line: Line) {
    this.id = id
    this.#line = line
    this.#inbox = new Inbox(new Window(line), (bytes) => {
      const amount = Buffer.allocUnsafe(4)
      amount.writeUInt32BE(bytes)
      if (this.#over === null) line.send(encodeFrame(FRAME.credit, 0, id, 0, amount))
    })
  }

  get over(): boolean {
    return this.#over !== null
  }

  /** Whether few bytes wait, so it is sent before bulk data. */
  get urgent(): boolean {
    return this.#waitingBytes <= SMALL
  }

  /** Whether the next frame may be sent now. */
  get ready(): boolean {
    const first = this.#outgoing[0]
    return first !== undefined && (this.#credit > 0 || first.type === 'finish' || first.type === 'end')
  }

  write(bytes: Uint8Array, channel: Channel = 0, offset?: number): Promise<void> {
    if (this.#over !== null) return Promise.reject(this.#over)
    if (this.#finishing) return Promise.reject(new StreamReset('no bytes can be written after the last ones'))
    if (bytes.length === 0) return WRITTEN
    const next = this.#nextWritten[channel] ?? 0
    const at = offset ?? next
    if (!(at >= next && Number.isSafeInteger(at + bytes.length)))
      return Promise.reject(new RangeError('an offset is a whole number that never goes back'))
    this.#nextWritten[channel] = at + bytes.length
    const item: Bytes = { type: 'bytes', bytes, sent: 0, channel, offset: at, settle: null }
    this.#waitingBytes += bytes.length
    this.#add(item)
    if (item.sent === bytes.length) return WRITTEN
    if (this.over) return Promise.reject(this.#over!)
    return new Promise((resolve, reject) => (item.settle = { resolve, reject }))
  }

  event(event: object): void {
    if (this.#over !== null) return
    const json = writeJson(event)
    if (json === null) throw new RangeError('an event is at most 64 KiB of JSON')
    this.#waitingEvents++
    this.#waitingEventBytes += json.length
    if (this.#waitingEvents > MAX_EVENTS || this.#waitingEventBytes > MAX_EVENT_BYTES)
      return this.reset('too many events wait to be read')
    this.#add({ type: 'event', json })
  }

  taken(): Promise<void> {
    if (this.#waitingEvents === 0 || this.#over !== null) return WRITTEN
    return new Promise((resolve) => this.#tellTaken.push(resolve))
  }

  finish(): void {
    if (this.#over !== null || this.#finishing) return
    this.#finishing = true
    this.#add({ type: 'finish' })
  }

  /** Queues the answer after everything written. */
  end(answer: Buffer): void {
    if (this.#over !== null) return
    this.#finishing = true
    this.#add({ type: 'end', json: answer })
  }

  reset(reason: string): void {
    if (this.#over === null) this.#line.reset(this, new StreamReset(reason))
  }

  lose(reason: string): void {
    if (this.#over === null) this.#line.reset(this, new LinkLost(reason))
  }

  [Symbol.asyncIterator](): AsyncIterator<Incoming, undefined> {
    return this.#inbox
  }

  #add(item: Outgoing): void {
    this.#outgoing.push(item)
    if (this.ready) this.#line.wants(this)
  }

  /** Sends the next frame. Call only while `ready`. */
  sendOne(): void {
    const first = this.#outgoing[0]!
    if (first.type === 'bytes') return this.#sendBytes(first)
    this.#outgoing.shift()
    if (first.type === 'finish') return this.#line.send(encodeFrame(FRAME.data, FINISHED, this.id, 0))
    if (first.type === 'end') {
      this.#line.send(encodeFrame(FRAME.end, 0, this.id, 0, first.json))
      return this.close(null)
    }
    this.#waitingEvents--
    this.#waitingEventBytes -= first.json.length
    this.#credit -= first.json.length + FRAME_COST
    this.#line.send(encodeFrame(FRAME.event, 0, this.id, 0, first.json))
    if (this.#waitingEvents === 0) this.#wakeTakers()
  }

  #sendBytes(item: Bytes): void {
    const { channel, offset } = item
    const part = item.bytes.subarray(item.sent, item.sent + SENT_DATA)
    item.sent += part.length
    item.offset += part.length
    this.#credit -= part.length + FRAME_COST
    this.#waitingBytes -= part.length
    if (item.sent === item.bytes.length) this.#outgoing.shift()
    this.#line.sendData(channel, this.id, offset, part)
    if (item.sent === item.bytes.length) item.settle?.resolve()
  }

  /** Adds credit granted by the peer. */
  credit(bytes: number): void {
    this.#credit += bytes
    if (this.#credit > MAX_CREDIT) throw new Violation('a stream received more credit than was requested')
    if (this.ready) this.#line.wants(this)
  }

  receiveBytes(channel: Channel, offset: number, bytes: Uint8Array): void {
    if (this.#otherFinished) throw new Violation('bytes came after the last ones')
    if (offset < (this.#nextReceived[channel] ?? 0)) throw new Violation('bytes came twice')
    this.#nextReceived[channel] = offset + bytes.length
    this.#inbox.put({ type: 'bytes', channel, offset, bytes }, bytes.length + FRAME_COST)
  }

  receiveFinish(): void {
    if (this.#otherFinished) throw new Violation('bytes ended twice')
    this.#otherFinished = true
    this.#inbox.put({ type: 'finished' }, 0)
  }

  receiveEvent(event: object, size: number): void {
    this.#inbox.put({ type: 'event', event }, size + FRAME_COST)
  }

  /** Handles the peer's answer. Messages already received can still be read. */
  receiveEnd(answer: Buffer): void {
    this.settle?.end(answer)
    this.close(null)
  }

  #wakeTakers(): void {
    for (const wake of this.#tellTaken.splice(0)) wake()
  }

  /** Closes both directions. Null: regular end. */
  close(error: Error | null): void {
    if (this.#over !== null) return
    this.#over = error ?? ENDED
    const waiting = this.#outgoing
    this.#outgoing = []
    this.#line.gone(this)
    this.#inbox.close(error)
    for (const item of waiting) if (item.type === 'bytes') item.settle?.reject(this.#over)
    this.#wakeTakers()
    if (error !== null) this.settle?.fail(error)
  }
}

const ENDED = new StreamReset('the stream has ended')
const WRITTEN = Promise.resolve()
