import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Dispatcher } from 'undici'
import { readTurns } from '#packages/fair-queue/read-turns.ts'
import { type AnswerSink, AnswerParser, NotHttp } from './answer-parser.ts'
import type { Wire } from './connector.ts'
import { type Limits, MAX_INTERIM } from '../limits.ts'
import type { StreamedBody } from '../send.ts'
import { writeStreamed } from './write-streamed.ts'

export interface Order {
  method: string
  /** Request line, headers, empty line, and any body text. Latin-1. */
  head: string
  body: Buffer | string | null
  streamed: StreamedBody | null
  handler: Dispatcher.DispatchHandler
  party: string
  limits: Limits
  withinMs: number
  /** Milliseconds on the lane's clock since it started to wait for a connection, then since it was sent. */
  elapsedMs: number
}

export class ConnectionClosed extends Error {
  override name = 'ConnectionClosed'
  readonly code = 'UK_CONNECTION_CLOSED'
}

export class AnswerTimeout extends Error {
  override name = 'AnswerTimeout'
  readonly code = 'UK_ANSWER_TIMEOUT'
}

export class AnswerTooLarge extends Error {
  override name = 'AnswerTooLarge'
  readonly code = 'UK_ANSWER_TOO_LARGE'
}

const ONE_WRITE = 16_384
/** Up to this size, copying head and body into one write is cheaper than a vectored one. */
const COPIED = 65_536
const IN_A_ROW = 65_536
/** A smaller piece was everything available. */
const LARGE_PIECE = 8_192
/** Shared buffer for outgoing requests. Sockets usually accept a whole request at once. */
let outbox = Buffer.allocUnsafeSlow(COPIED)
const EVENTS = /^text\/event-stream|^application\/vnd\.amazon\.eventstream/i

/**
 * Carries one order at a time. Calls `onFree` when ready for the next and `onClosed` when closed permanently. Bytes
 * outside an order close it.
 */
export class Connection implements AnswerSink {
  readonly #socket: Socket
  /** TLS is slower and keeps its input buffer. */
  readonly #secure: boolean
  readonly #parser = new AnswerParser(this)
  readonly #onFree: (connection: Connection) => void
  readonly #onClosed: (connection: Connection) => void
  #order: Order | null = null
  #grip: Grip | null = null
  #closed = false
  #isPaused = false
  #isPaced = false
  #inARow = 0
  readonly #source = {
    pause: () => {
      this.#isPaced = true
      this.#socket.pause()
    },
    resume: () => {
      if (!this.#isPaced) return
      this.#isPaced = false
      if (!this.#isPaused) this.#socket.resume()
    },
  }
  #answering = false
  #streaming = false
  #interim = 0
  #size = 0
  #mostMs = 0
  #starting = false
  /** Milliseconds on the lane's clock since the last data. */
  #waitMs = 0

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

  get idleSeconds(): number | null {
    return this.#parser.idleSeconds
  }

  /** False: the handler had canceled, and nothing was written. */
  send(order: Order): boolean {
    this.#order = order
    this.#answering = false
    this.#interim = 0
    this.#size = 0
    this.#waitMs = 0
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
      // One write of copied bytes is cheaper than a vectored write or a string.
      const at = outbox.write(head, 'latin1')
      socket.write(outbox.subarray(0, at + body.copy(outbox, at)))
      // Unsent bytes still use this memory.
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

  turn(ms: number, idleMs: number): void {
    const order = this.#order
    if (order === null) {
      this.#waitMs += ms
      if (this.#waitMs >= idleMs) this.#close(new ConnectionClosed('the connection was idle for too long'))
    } else if (!this.#isPaused) {
      this.#waitMs += ms
      order.elapsedMs += ms
      if (order.elapsedMs > this.#mostMs || (this.#answering && this.#waitMs > order.limits.idleMs))
        this.#close(new AnswerTimeout('the other side took too long to respond'))
    }
  }

  abort(grip: Grip, reason: Error): void {
    if (grip !== this.#grip) return
    // Nothing was sent yet, so the connection stays usable.
    if (this.#starting) this.#tellError(reason)
    else this.#close(reason)
  }

  pause(grip: Grip): void {
    if (grip !== this.#grip) return
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(grip: Grip): void {
    if (grip !== this.#grip || !this.#isPaused) return
    this.#isPaused = false
    this.#waitMs = 0
    if (!this.#isPaced) this.#socket.resume()
  }

  #release(): void {
    this.#inARow = 0
    if (!this.#isPaused && !this.#isPaced) return
    this.#isPaused = false
    this.#isPaced = false
    this.#waitMs = 0
    this.#socket.resume()
  }

  destroy(): void {
    this.#close(new ConnectionClosed('this server is closing'))
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    const order = this.#order
    if (order === null) return
    if (status < 200) {
      if (++this.#interim > MAX_INTERIM) throw new NotHttp('too many heads come before the answer')
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
    this.#waitMs = 0
    this.#release()
    // A response before the end of its request leaves unsent bytes that would corrupt the next request, and the buffer
    // may be reused.
    if (this.#socket.writableLength > 0 || this.#streaming) this.#socket.destroy()
    try {
      order.handler.onResponseEnd?.(grip, {})
    } catch (error) {
      // Reports a handler's own error at the end, because nothing else would end its wait.
      order.handler.onResponseError?.(grip, error as Error)
    }
    if (this.#parser.keepAlive && !this.#closed && !this.#socket.destroyed) this.#onFree(this)
    else this.#socket.end()
  }

  /** Copies incoming bytes, because handlers may keep them. */
  #read(bytes: Buffer): void {
    if (this.#closed) return
    this.#waitMs = 0
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
