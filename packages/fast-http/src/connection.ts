import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Reply, WholeRequest } from './exchange.ts'
import type { BodyMemory } from './body-memory.ts'
import { type FastHead, FastHeads } from './head.ts'
import { readAgain, readInto } from './read-into.ts'
import { FastReply, type ReplyHow } from './reply.ts'

const LARGEST = 262_144
const LARGEST_HEAD = 16_384

// Reads are synchronous, so all connections share one read buffer. A whole request fits.
const inbox = Buffer.allocUnsafeSlow(LARGEST + LARGEST_HEAD)

export interface FastOptions {
  paths: { has(path: string): boolean }
  elsewhere(host: string): boolean
  answer(request: WholeRequest, reply: Reply): void
  handOver(socket: Socket): void
  keepAliveSeconds: number
}

export interface ConnectionOwner {
  readonly options: FastOptions
  readonly memory: BodyMemory
  readonly closing: boolean
  gathers(connection: Connection): void
  onBodyComplete(connection: Connection): void
  onClose(connection: Connection): void
}

interface PartialRequest {
  head: FastHead
  bytes: Buffer
  body: Buffer
  filled: number
}

export class Connection implements ReplyHow {
  readonly #socket: Socket
  readonly #owner: ConnectionOwner
  readonly #heads: FastHeads
  #reply: FastReply | null = null
  #partial: PartialRequest | null = null
  #chunks: Buffer[] = []
  #heldBytes = 0
  #isUsed = false
  #deaf = false
  /** Timer ticks since the last activity. */
  #turns = 0
  gathersSince = 0

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.#socket = socket
    this.#owner = owner
    this.#heads = new FastHeads(owner.options)
    if (!readInto(socket, inbox, this.#onRead)) socket.on('data', this.#data)
    socket.on('drain', this.#onDrain)
    socket.on('end', this.#onEnd).on('error', ignore).on('close', this.#onClose)
  }

  /**
   * Neither a request nor a response is in progress. A new connection counts as busy: its first request is on the way.
   */
  get idle(): boolean {
    return this.#reply === null && this.#partial === null && (this.#isUsed || this.#turns > 1)
  }

  get keepAliveSeconds(): number {
    return this.#owner.options.keepAliveSeconds
  }

  stays(): boolean {
    return !this.#owner.closing
  }

  destroy(): void {
    this.#socket.destroy()
  }

  turn(idleTurns: number): void {
    if (this.#reply === null && ++this.#turns > idleTurns) this.#socket.destroy()
  }

  #onRead = (size: number): boolean => {
    this.#data(inbox.subarray(0, size))
    return true
  }

  /** `bytes` is reused after this returns. */
  #data = (bytes: Buffer): void => {
    if (this.#deaf) return
    if (this.#partial !== null) return this.#gather(this.#partial, bytes)
    if (this.#reply === null) return this.#read(bytes, false)
    this.#hold(bytes, false)
    // Stops reading from a client that sends too far ahead of its response.
    if (this.#heldBytes > LARGEST) this.#socket.pause()
  }

  /** `own`: the memory isn't shared. */
  #hold(bytes: Buffer, own: boolean): void {
    if (bytes.length === 0) return
    this.#chunks.push(own ? bytes : Buffer.from(bytes))
    this.#heldBytes += bytes.length
  }

  #read(bytes: Buffer, own: boolean): void {
    const end = bytes.indexOf('\r\n\r\n', 0, 'latin1') + 4
    const head = end < 4 || end > LARGEST_HEAD ? null : this.#heads.read(bytes.toString('latin1', 0, end))
    if (head === null || end + head.length > LARGEST) {
      this.#hold(bytes, own)
      return this.handOver()
    }
    const body = this.#owner.memory.take(head.length)
    const whole = end + head.length
    const filled = bytes.copy(body, 0, end, whole)
    if (filled < head.length) return this.#await({ head, bytes: Buffer.from(bytes.subarray(0, end)), body, filled })
    this.#hold(bytes.subarray(whole), own)
    this.#answer(head, body)
  }

  #await(partial: PartialRequest): void {
    this.#partial = partial
    this.#turns = 0
    this.gathersSince = performance.now()
    this.#owner.gathers(this)
  }

  #gather(partial: PartialRequest, bytes: Buffer): void {
    const { head, body } = partial
    const copiedBytes = bytes.copy(body, partial.filled, 0, head.length - partial.filled)
    partial.filled += copiedBytes
    if (partial.filled < head.length) return
    this.#partial = null
    this.#owner.onBodyComplete(this)
    this.#hold(bytes.subarray(copiedBytes), false)
    this.#answer(head, body)
  }

  #answer({ url, headers, length }: FastHead, body: Buffer): void {
    this.#isUsed = true
    const reply = (this.#reply = new FastReply(this.#socket, this))
    const request = new FastRequest(url, headers, this.#socket, body, length, this.#owner.memory)
    this.#owner.options.answer(request, reply)
  }

  over(stays: boolean): void {
    this.#reply = null
    this.#turns = 0
    if (!stays) {
      this.#deaf = true
      return this.#socket.destroySoon()
    }
    if (this.#heldBytes === 0) return
    if (this.#heldBytes > LARGEST) this.#socket.resume()
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#heldBytes = 0
    this.#read(bytes, true)
  }

  /** The full server continues at the first unanswered byte. */
  handOver(): void {
    const socket = this.#socket
    socket.off('data', this.#data).off('drain', this.#onDrain)
    socket.off('end', this.#onEnd).off('error', ignore).off('close', this.#onClose)
    readAgain(socket)
    const partial = this.#partial
    const chunks = partial === null ? this.#chunks : [partial.bytes, partial.body.subarray(0, partial.filled)]
    this.#owner.onClose(this)
    // Otherwise the returned bytes would wait for a read that doesn't come.
    socket.pause()
    socket.unshift(Buffer.concat(chunks))
    this.#forget()
    this.#owner.options.handOver(socket)
    socket.resume()
  }

  #forget(): void {
    if (this.#partial !== null) this.#owner.memory.giveBack(this.#partial.body)
    this.#partial = null
  }

  #onEnd = (): void => void this.#socket.end()

  #onDrain = (): void => this.#reply?.onDrain()

  #onClose = (): void => {
    this.#owner.onClose(this)
    this.#forget()
    this.#reply?.onLost()
  }
}

class FastRequest implements WholeRequest {
  readonly method = 'POST'
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly socket: object
  readonly whole: Buffer
  readonly #memory: BodyMemory
  #body: Buffer | null

  constructor(
    url: string,
    headers: IncomingHttpHeaders,
    socket: object,
    body: Buffer,
    length: number,
    memory: BodyMemory,
  ) {
    this.url = url
    this.headers = headers
    this.socket = socket
    this.whole = body.subarray(0, length)
    this.#memory = memory
    this.#body = body
  }

  done(): void {
    if (this.#body !== null) this.#memory.giveBack(this.#body)
    this.#body = null
  }
}

/** The socket's `close` event follows its error. */
const ignore = (): void => {}
