import { FINISHED, FRAME, SENT_DATA, Violation, encodeFrame, writeJson } from './frames.ts'
import { Inbox } from './inbox.ts'
import type { Channel } from './operations.ts'
import { type Incoming, LinkLost, type Stream, StreamReset } from './stream.ts'
import { type Budget, FIRST_WINDOW, FRAME_COST, Window } from './window.ts'

/** Up to here a stream's waiting bytes go before those of streams that have more. */
const SMALL = 16_384
/** Events that wait for credit, and their bytes. Who makes more of them than the other end takes has lost count of it. */
const MOST_EVENTS = 4_096
const MOST_EVENT_BYTES = 1_048_576
const MOST_CREDIT = 2 ** 31

/** The part of its link that an end uses. */
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
  /** The number of its bytes that have left. */
  sent: number
  channel: Channel
  /** The offset of the next byte that leaves. */
  offset: number
  settle: { resolve(): void; reject(error: Error): void } | null
}
type Outgoing = Bytes | { type: 'event' | 'end'; json: Buffer } | { type: 'finish' }

/** An end of a stream: what waits to be sent, and what came. */
export class StreamEnd implements Stream {
  readonly id: number
  readonly #line: Line
  readonly #inbox: Inbox
  #outgoing: Outgoing[] = []
  #waitingBytes = 0
  #waitingEvents = 0
  #waitingEventBytes = 0
  /** Calls for those who wait until no event waits. */
  #tellTaken: (() => void)[] = []
  /** The number of bytes that may be sent; one frame may take it below zero. */
  #credit = FIRST_WINDOW
  /** The offset of each channel's next byte, of those written and those that came. */
  #written: number[] = []
  #came: number[] = []
  #finishing = false
  #otherFinished = false
  /** The reason why nothing more can be sent; null: the stream lives. */
  #over: Error | null = null
  /** Whether the end stands in the line of those that want to send. */
  queued = false
  /** The other end's answer, or why there is none. */
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

  /** Little waits: it goes before the bulk of others. */
  get urgent(): boolean {
    return this.#waitingBytes <= SMALL
  }

  /** Whether something waits that may leave now. */
  get ready(): boolean {
    const first = this.#outgoing[0]
    return first !== undefined && (this.#credit > 0 || first.type === 'finish' || first.type === 'end')
  }

  write(bytes: Uint8Array, channel: Channel = 0, offset?: number): Promise<void> {
    if (this.#over !== null) return Promise.reject(this.#over)
    if (this.#finishing) return Promise.reject(new StreamReset('no bytes can be written after the last ones'))
    if (bytes.length === 0) return WRITTEN
    const next = this.#written[channel] ?? 0
    const at = offset ?? next
    if (!(at >= next && Number.isSafeInteger(at + bytes.length)))
      return Promise.reject(new RangeError('an offset is a whole number that never goes back'))
    this.#written[channel] = at + bytes.length
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
    if (this.#waitingEvents > MOST_EVENTS || this.#waitingEventBytes > MOST_EVENT_BYTES)
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

  /** The answer, behind all that was written. */
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

  /** Sends the next frame; only while `ready`. */
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

  /** The other end read something. */
  credit(bytes: number): void {
    this.#credit += bytes
    if (this.#credit > MOST_CREDIT) throw new Violation('a stream received more credit than was requested')
    if (this.ready) this.#line.wants(this)
  }

  receiveBytes(channel: Channel, offset: number, bytes: Uint8Array): void {
    if (this.#otherFinished) throw new Violation('bytes came after the last ones')
    if (offset < (this.#came[channel] ?? 0)) throw new Violation('bytes came twice')
    this.#came[channel] = offset + bytes.length
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

  /** The other end's answer came: what was received can still be read, then reading ends. */
  receiveEnd(answer: Buffer): void {
    this.settle?.end(answer)
    this.close(null)
  }

  #wakeTakers(): void {
    for (const wake of this.#tellTaken.splice(0)) wake()
  }

  /** Closes the end: nothing more goes either way. Null: all is said. */
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
