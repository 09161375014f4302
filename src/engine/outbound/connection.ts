import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { type AnswerSink, AnswerParser } from './answer-parser.ts'

/** A request as it is written, and who is told of its answer. */
export interface Order {
  method: string
  /** Request line and fields up to the empty line, which ends it. Latin-1. */
  head: string
  body: Buffer | string | null
  handler: Dispatcher.DispatchHandler
  headersMs: number
  bodyMs: number
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

/** Strings up to here leave together with their head, in one write. */
const ONE_WRITE = 16_384

/**
 * One connection, which carries one order at a time. `onFree` is called when it may carry the next, `onClosed` when it
 * never will again. Also the controller of the order under way.
 */
export class Connection implements AnswerSink, Dispatcher.DispatchController {
  readonly #socket: Socket
  readonly #parser = new AnswerParser(this)
  readonly #onFree: (connection: Connection) => void
  readonly #onClosed: (connection: Connection) => void
  #order: Order | null = null
  #closed = false
  #paused = false
  #answering = false
  /** Turns of the clock since something last came; the lane turns it. */
  #waited = 0
  rawHeaders = null
  rawTrailers = null
  aborted = false
  reason: Error | null = null

  constructor(socket: Socket, onFree: (connection: Connection) => void, onClosed: (connection: Connection) => void) {
    this.#socket = socket
    this.#onFree = onFree
    this.#onClosed = onClosed
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => this.#read(bytes))
    socket.on('end', () => this.#ended())
    socket.on('error', (error) => this.#close(error))
    socket.on('close', () => this.#close(new ConnectionClosed('the other side closed the connection')))
  }

  get paused(): boolean {
    return this.#paused
  }

  /** The seconds for which the other side said that it keeps an idle connection. */
  get idleSeconds(): number | null {
    return this.#parser.idleSeconds
  }

  send(order: Order): void {
    this.#order = order
    this.#answering = false
    this.#waited = 0
    this.aborted = false
    this.reason = null
    this.#parser.expect(order.method)
    order.handler.onRequestStart?.(this, null)
    if (this.#order === null) return
    const { head, body } = order
    const socket = this.#socket
    if (body === null || body.length === 0) socket.write(head, 'latin1')
    else if (typeof body === 'string' && body.length <= ONE_WRITE) socket.write(head + body, 'latin1')
    else {
      socket.cork()
      socket.write(head, 'latin1')
      if (typeof body === 'string') socket.write(body, 'latin1')
      else socket.write(body)
      socket.uncork()
    }
  }

  /** A turn of the lane's clock: what has waited too long is given up, an idle connection too. */
  turn(seconds: number, idleSeconds: number): void {
    this.#waited += seconds
    const order = this.#order
    if (order === null) {
      if (this.#waited >= idleSeconds) this.#socket.destroy()
    } else if (!this.#paused) {
      const limit = this.#answering ? order.bodyMs : order.headersMs
      if (limit > 0 && this.#waited * 1000 > limit) this.#close(new AnswerTimeout('the other side took too long'))
    }
  }

  abort(reason: Error): void {
    this.aborted = true
    this.reason = reason
    this.#close(reason)
  }

  pause(): void {
    this.#paused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#waited = 0
    this.#socket.resume()
  }

  destroy(): void {
    this.#close(new ConnectionClosed('this server is closing'))
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#answering = status >= 200
    this.#order?.handler.onResponseStart?.(this, status, headers)
  }

  data(bytes: Buffer): void {
    this.#order?.handler.onResponseData?.(this, bytes)
  }

  end(): void {
    const order = this.#order
    if (order === null) return
    this.#order = null
    this.#waited = 0
    if (this.#paused) this.resume()
    order.handler.onResponseEnd?.(this, {})
    // An answer that came before the request was wholly sent leaves the rest of it in the way of the next.
    if (this.#parser.keepAlive && !this.#closed && this.#socket.writableLength === 0) this.#onFree(this)
    else this.#socket.end()
  }

  #read(bytes: Buffer): void {
    this.#waited = 0
    try {
      this.#parser.push(bytes)
    } catch (error) {
      this.#close(error as Error)
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
    const order = this.#order
    this.#order = null
    order?.handler.onResponseError?.(this, why)
  }
}
