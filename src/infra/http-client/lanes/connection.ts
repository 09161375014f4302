import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Dispatcher } from 'undici'
import { readTurns } from '#infra/bodies/read-turns.ts'
import { type AnswerSink, AnswerParser, NotHttp } from './answer-parser.ts'
import type { Wire } from './connector.ts'
import { type Limits, MOST_INTERIM } from '../limits.ts'
import type { StreamedBody } from '../send.ts'
import { writeStreamed } from './write-streamed.ts'

/** A request as it is written, and who is told of its answer. */
export interface Order {
  method: string
  /** Request line and fields with their empty line, and what of the body leaves as text. Latin-1. */
  head: string
  body: Buffer | string | null
  /** The body, where it is read as it is sent. */
  streamed: StreamedBody | null
  handler: Dispatcher.DispatchHandler
  /** The account that the answer is for, or what else it is for: long answers come by turns of these. */
  party: string
  limits: Limits
  /** The time limit of the order, from its beginning to the end of its answer. Infinity: as the limits say. */
  withinMs: number
  /** Milliseconds, by turns of the lane's clock, since it began to wait for a connection, then since it was sent. */
  elapsedMs: number
}

/** The other side closed before its answer was whole. */
export class ConnectionClosed extends Error {
  override name = 'ConnectionClosed'
  readonly code = 'UK_CONNECTION_CLOSED'
}

export class AnswerTimeout extends Error {
  override name = 'AnswerTimeout'
  readonly code = 'UK_ANSWER_TIMEOUT'
}

/** The server sent more than the order allows. */
export class AnswerTooLarge extends Error {
  override name = 'AnswerTooLarge'
  readonly code = 'UK_ANSWER_TOO_LARGE'
}

/** Strings up to here leave together with their head, in one write. */
const ONE_WRITE = 16_384
/** Up to here one write of head and body that are copied together costs less than a vectored one. */
const COPIED = 65_536
/** Bytes that an answer brings in a row before others have a turn. */
const IN_A_ROW = 65_536
/** A smaller piece was all that had come: nothing waits behind it. */
const LARGE_PIECE = 8_192
/**
 * The buffer that requests are copied to. Sockets mostly take all of a request at once, so one serves all
 * connections.
 */
let outbox = Buffer.allocUnsafeSlow(COPIED)
const EVENTS = /^text\/event-stream|^application\/vnd\.amazon\.eventstream/i

/**
 * A connection that carries one order at a time. `onFree` is called when it may carry the next order, `onClosed`
 * when it never will again. Bytes that come while it carries no order close it.
 */
export class Connection implements AnswerSink {
  readonly #socket: Socket
  /** Ciphers take their time, and keep what they are given until then. */
  readonly #secure: boolean
  readonly #parser = new AnswerParser(this)
  readonly #onFree: (connection: Connection) => void
  readonly #onClosed: (connection: Connection) => void
  #order: Order | null = null
  #grip: Grip | null = null
  #closed = false
  /** The handler has paused the answer. */
  #paused = false
  /** The answer waits for its turn. */
  #isPaced = false
  /** Bytes of the answer that came in a row. */
  #inARow = 0
  readonly #source = {
    pause: () => {
      this.#isPaced = true
      this.#socket.pause()
    },
    resume: () => {
      if (!this.#isPaced) return
      this.#isPaced = false
      if (!this.#paused) this.#socket.resume()
    },
  }
  #answering = false
  /** A body is being read and sent. */
  #streaming = false
  /** Heads of 1xx, and bytes, of the answer that is being read. */
  #interim = 0
  #size = 0
  /** The most that `taken` of the order may become. */
  #mostMs = 0
  /** An order's handler is told that its turn has come. */
  #starting = false
  /** Milliseconds, by turns of the lane's clock, since something last came. */
  #waited = 0

  constructor(wire: Wire, onFree: (connection: Connection) => void, onClosed: (connection: Connection) => void) {
    const { socket } = wire
    this.#socket = socket
    this.#secure = socket instanceof TLSSocket
    this.#onFree = onFree
    this.#onClosed = onClosed
    wire.read = (bytes) => this.#read(bytes)
    socket.on('end', () => this.#ended())
    socket.on('error', (error) => this.#close(error))
    socket.on('close', () => this.#close(new ConnectionClosed('the other side closed the connection')))
  }

  /** The seconds for which the other side said that it keeps an idle connection. */
  get idleSeconds(): number | null {
    return this.#parser.idleSeconds
  }

  /** False: its handler did not want it any more, and nothing was written. */
  send(order: Order): boolean {
    this.#order = order
    this.#answering = false
    this.#interim = 0
    this.#size = 0
    this.#waited = 0
    order.withinMs -= order.elapsedMs
    order.elapsedMs = 0
    this.#mostMs = Math.min(order.limits.headMs, order.withinMs)
    const grip = (this.#grip = new Grip(this))
    this.#starting = true
    try {
      order.handler.onRequestStart?.(grip, null)
    } finally {
      this.#starting = false
    }
    if (this.#order === null) return false
    this.#parser.expect(order.method)
    this.#write(order)
    return true
  }

  #write(order: Order): void {
    const { head, body, streamed } = order
    const socket = this.#socket
    if (streamed !== null) this.#stream(order, streamed)
    else if (body === null || body.length === 0) socket.write(head, 'latin1')
    else if (typeof body === 'string' && body.length <= ONE_WRITE) socket.write(head + body, 'latin1')
    else if (typeof body !== 'string' && !this.#secure && head.length + body.length <= COPIED) {
      // One write of bytes that are copied together costs less than a vectored one, and than one of a string.
      const at = outbox.write(head, 'latin1')
      socket.write(outbox.subarray(0, at + body.copy(outbox, at)))
      // Bytes that have not left yet leave from this memory.
      if (socket.writableLength > 0) outbox = Buffer.allocUnsafeSlow(COPIED)
    } else {
      socket.cork()
      socket.write(head, 'latin1')
      if (typeof body === 'string') socket.write(body, 'latin1')
      else socket.write(body)
      socket.uncork()
    }
  }

  #stream(order: Order, body: StreamedBody): void {
    this.#streaming = true
    this.#socket.write(order.head, 'latin1')
    writeStreamed(this.#socket, body, () => this.#order === order && !this.#closed).then(
      () => (this.#streaming = false),
      (error: Error) => this.#order === order && this.#close(error),
    )
  }

  /** A turn of the lane's clock: what takes too long is given up, an idle connection too. */
  turn(ms: number, idleMs: number): void {
    const order = this.#order
    if (order === null) {
      this.#waited += ms
      if (this.#waited >= idleMs) this.#close(new ConnectionClosed('the connection was idle for too long'))
    } else if (!this.#paused) {
      this.#waited += ms
      order.elapsedMs += ms
      if (order.elapsedMs > this.#mostMs || (this.#answering && this.#waited > order.limits.idleMs))
        this.#close(new AnswerTimeout('the other side took too long to respond'))
    }
  }

  abort(grip: Grip, reason: Error): void {
    if (grip !== this.#grip) return
    // Nothing has left for this order yet: the connection is as good as it was.
    if (this.#starting) this.#tellError(reason)
    else this.#close(reason)
  }

  pause(grip: Grip): void {
    if (grip !== this.#grip) return
    this.#paused = true
    this.#socket.pause()
  }

  resume(grip: Grip): void {
    if (grip !== this.#grip || !this.#paused) return
    this.#paused = false
    this.#waited = 0
    if (!this.#isPaced) this.#socket.resume()
  }

  /** Resumes the connection after an order. */
  #release(): void {
    this.#inARow = 0
    if (!this.#paused && !this.#isPaced) return
    this.#paused = false
    this.#isPaced = false
    this.#waited = 0
    this.#socket.resume()
  }

  destroy(): void {
    this.#close(new ConnectionClosed('this server is closing'))
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    const order = this.#order
    if (order === null) return
    if (status < 200) {
      if (++this.#interim > MOST_INTERIM) throw new NotHttp('too many heads come before the answer')
      return
    }
    this.#answering = true
    const { errorMs, wholeMs, streamMs } = order.limits
    const most =
      status >= 300 ? order.elapsedMs + errorMs : EVENTS.test(headers['content-type'] ?? '') ? streamMs : wholeMs
    this.#mostMs = Math.min(most, order.withinMs)
    order.handler.onResponseStart?.(this.#grip!, status, headers)
  }

  data(bytes: Buffer): void {
    this.#order?.handler.onResponseData?.(this.#grip!, bytes)
  }

  end(): void {
    const order = this.#order
    if (order === null) return
    const grip = this.#grip!
    this.#order = null
    this.#grip = null
    this.#waited = 0
    this.#release()
    // An answer that came before the request was wholly sent leaves the rest of it in the way of the next; and who hears of
    // the end may write over the rest.
    if (this.#socket.writableLength > 0 || this.#streaming) this.#socket.destroy()
    try {
      order.handler.onResponseEnd?.(grip, {})
    } catch (error) {
      // A handler that chokes on the end of an answer is told so: nobody else would end the wait for it.
      order.handler.onResponseError?.(grip, error as Error)
    }
    if (this.#parser.keepAlive && !this.#closed && !this.#socket.destroyed) this.#onFree(this)
    else this.#socket.end()
  }

  /** The bytes that come are copied: a handler that is told of them may keep them. */
  #read(bytes: Buffer): void {
    if (this.#closed) return
    this.#waited = 0
    this.#size += bytes.length
    const most = this.#order?.limits.mostBytes
    if (most !== undefined && this.#size > most)
      return this.#close(new AnswerTooLarge('the response of the other side is too large'))
    try {
      this.#parser.push(Buffer.from(bytes))
    } catch (error) {
      return this.#close(error as Error)
    }
    this.#pace(bytes.length)
  }

  #pace(size: number): void {
    if (size < LARGE_PIECE) this.#inARow = 0
    else if (this.#order !== null && (this.#inARow += size) >= IN_A_ROW) {
      this.#inARow = 0
      readTurns.pace(this.#source, this.#order.party)
    }
  }

  #ended(): void {
    this.#parser.finish()
    this.#close(new ConnectionClosed('the other side closed the connection'))
  }

  #close(why: Error): void {
    if (!this.#closed) {
      this.#closed = true
      this.#onClosed(this)
      this.#socket.destroy()
    }
    this.#tellError(why)
  }

  #tellError(why: Error): void {
    const order = this.#order
    if (order === null) return
    const grip = this.#grip!
    this.#order = null
    this.#grip = null
    this.#release()
    grip.aborted = true
    grip.reason = why
    order.handler.onResponseError?.(grip, why)
  }
}

/** The hold of an order's handler on its connection: it does nothing once the order is over, whoever has it next. */
class Grip implements Dispatcher.DispatchController {
  readonly #connection: Connection
  paused = false
  aborted = false
  reason: Error | null = null
  rawHeaders = null
  rawTrailers = null

  constructor(connection: Connection) {
    this.#connection = connection
  }

  abort(reason: Error): void {
    this.#connection.abort(this, reason)
  }

  pause(): void {
    this.paused = true
    this.#connection.pause(this)
  }

  resume(): void {
    this.paused = false
    this.#connection.resume(this)
  }
}
