import { EventEmitter } from 'node:events'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Reply } from './exchange.ts'

/** Bytes buffered until the end of the event-loop turn, copied after their head to send one piece. */
const GATHERED = 65_536
const NOTHING = Buffer.alloc(0)
/** Shared output buffer. Sockets usually accept it all at once. */
let outbox = Buffer.allocUnsafeSlow(GATHERED + 16_384)

export interface ReplyHow {
  stays(): boolean
  keepAliveSeconds: number
  over(stays: boolean): void
}

/**
 * A response written directly to the socket: head and body in one write, and writes of one event-loop turn combined.
 * Same bytes as `ServerResponse`.
 */
export class FastReply extends EventEmitter<{ close: []; drain: [] }> implements Reply {
  readonly #socket: Socket
  readonly #how: ReplyHow
  #head: string | null = null
  #isChunked = false
  #due = 0
  #stays = true
  #buffers: Buffer[] = []
  #size = 0
  #closed = false
  /** Each stage is left once; the transition writes the end of the previous one. */
  #stage: 'unbegun' | 'open' | 'ended' = 'unbegun'
  writableNeedDrain = false
  destroyed = false

  constructor(socket: Socket, how: ReplyHow) {
    super()
    this.#socket = socket
    this.#how = how
  }

  get headersSent(): boolean {
    return this.#stage !== 'unbegun'
  }

  get writableEnded(): boolean {
    return this.#stage === 'ended'
  }

  writeHead(status: number, head: string[]): this {
    if (this.#stage !== 'unbegun') throw new Error('the head of this answer has been written')
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
    // 204 and 304 allow neither header (RFC 9110, 8.6; RFC 9112, 6.1).
    let isBounded = status === 204 || status === 304
    for (let i = 0; i < head.length; i += 2) {
      const name = head[i]!
      const value = head[i + 1]!
      if (proper.get(name) !== value) check(name, value)
      if (name === 'content-length') {
        isBounded = true
        this.#due = Number(value)
      }
      text += `${name}: ${value}\r\n`
    }
    this.#stays = this.#how.stays()
    text += `Date: ${date()}\r\n`
    text += this.#stays
      ? `Connection: keep-alive\r\nKeep-Alive: timeout=${this.#how.keepAliveSeconds}\r\n`
      : 'Connection: close\r\n'
    this.#isChunked = !isBounded
    this.#head = `${text}${isBounded ? '' : 'Transfer-Encoding: chunked\r\n'}\r\n`
    this.#stage = 'open'
    return this
  }

  write(chunk: Buffer | string): boolean {
    if (this.destroyed || !this.#isOpen()) return false
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    if (bytes.length > 0) {
      if (this.#size === 0) process.nextTick(flush, this)
      this.#buffers.push(bytes)
      this.#size += bytes.length
      this.#due -= bytes.length
      if (this.#size >= GATHERED) this.#send(false)
    }
    return !this.writableNeedDrain
  }

  end(chunk: Buffer | string = NOTHING, encoding: 'utf8' | 'latin1' = 'utf8'): this {
    if (this.destroyed || !this.#isOpen()) return this
    this.#stage = 'ended'
    const head = this.#head
    if (head !== null && this.#size === 0 && !this.#isChunked && encoding === 'latin1' && typeof chunk === 'string') {
      this.#head = null
      this.#due -= chunk.length
      this.#socket.write(head + chunk, 'latin1')
    } else {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
      if (bytes.length > 0) this.#buffers.push(bytes)
      this.#size += bytes.length
      this.#due -= bytes.length
      this.#send(this.#isChunked)
    }
    if (!this.#isChunked && this.#due !== 0) this.#stays = false
    // Written bytes must be sent before the next request, otherwise a client that never reads could accumulate
    // responses.
    if (this.#socket.writableLength === 0) process.nextTick(close, this)
    else this.#socket.write(NOTHING, () => this.close())
    return this
  }

  destroy(): this {
    if (this.#closed) return this
    this.destroyed = true
    this.#socket.destroy()
    return this
  }

  /** Sends buffered bytes. Called at the end of a turn, when the connection may already belong to another response. */
  flush(): void {
    if (this.#stage === 'open') this.#send(false)
  }

  #isOpen(): boolean {
    if (this.#stage === 'unbegun') throw new Error('an answer begins with its head')
    return this.#stage === 'open'
  }

  #send(last: boolean): void {
    const head = this.#head ?? ''
    const parts = this.#buffers
    const size = this.#size
    if (this.destroyed || (head === '' && size === 0 && !last)) return
    this.#head = null
    this.#buffers = []
    this.#size = 0
    if (size > GATHERED) return this.#sendLarge(head, parts, size, last)
    const frame = this.#isChunked && size > 0 ? `${head}${size.toString(16)}\r\n` : head
    const socket = this.#socket
    const length = frame.length + size + 7
    const room = socket.writableLength === 0 && length <= outbox.length ? outbox : Buffer.allocUnsafe(length)
    let at = room.write(frame, 'latin1')
    for (const part of parts) at += part.copy(room, at)
    if (this.#isChunked && size > 0) at += room.write('\r\n', at, 'latin1')
    if (last) at += room.write(LAST_CHUNK, at, 'latin1')
    this.#onWritten(socket.write(room.subarray(0, at)))
    if (room === outbox && socket.writableLength > 0) outbox = Buffer.allocUnsafeSlow(outbox.length)
  }

  #sendLarge(head: string, parts: readonly Buffer[], size: number, last: boolean): void {
    const socket = this.#socket
    socket.cork()
    socket.write(this.#isChunked ? `${head}${size.toString(16)}\r\n` : head, 'latin1')
    let hasRoom = true
    for (const part of parts) hasRoom = socket.write(part)
    if (this.#isChunked) hasRoom = socket.write(last ? `\r\n${LAST_CHUNK}` : '\r\n', 'latin1')
    socket.uncork()
    this.#onWritten(hasRoom)
  }

  /** A blocked writer waits for `drain`, even if a later piece would fit: the socket signals only then. */
  #onWritten(hasRoom: boolean): void {
    if (!hasRoom) this.writableNeedDrain = true
  }

  onDrain(): void {
    if (!this.writableNeedDrain) return
    this.writableNeedDrain = false
    this.emit('drain')
  }

  onLost(): void {
    this.destroyed = true
    this.close()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.emit('close')
    this.#how.over(this.#stays && !this.#socket.destroyed)
  }
}

const flush = (reply: FastReply): void => reply.flush()
const close = (reply: FastReply): void => reply.close()

/** Caches the last valid value per header name, because responses repeat most headers. */
const proper = new Map<string, string>()
const MAX_PROPER = 256

function check(name: string, value: string): void {
  if (!proper.has(name) && !NAME.test(name)) throw new TypeError('a header has no proper name')
  if (!VALUE.test(value)) throw new TypeError(`the value of ${name} is not a header value`)
  if (proper.size >= MAX_PROPER) proper.clear()
  proper.set(name, value)
}

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const LAST_CHUNK = '0\r\n\r\n'

let second = 0
let words = ''

/** The `Date` header for the current second (RFC 9110, 5.6.7). */
function date(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) {
    second = now
    words = new Date(now * 1000).toUTCString()
  }
  return words
}
