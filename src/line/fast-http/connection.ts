import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Reply, WholeRequest } from '#kernel/exchange.ts'
import { FastHeads } from './head.ts'
import { FastReply, type ReplyHow } from './reply.ts'

/** A request up to here is gathered; a larger one is for the full server. */
const LARGEST = 262_144
const LARGEST_HEAD = 16_384

export interface FastOptions {
  /** The paths whose POSTs are answered here. */
  paths: { has(path: string): boolean }
  answer(request: WholeRequest, reply: Reply): void
  /** Takes a connection over for good; its first bytes are put back into it. */
  handOver(socket: Socket): void
  keepAliveSeconds: number
}

/** The holder of the connections, told how each fares. */
export interface ConnectionOwner {
  readonly options: FastOptions
  /** No connection goes on after its answer. */
  readonly closing: boolean
  /** A request has begun to come, and is not whole. */
  gathers(connection: Connection): void
  gathered(connection: Connection): void
  gone(connection: Connection): void
}

/** One connection: its requests one after the other, each answered before the next is looked at. */
export class Connection implements ReplyHow {
  readonly #socket: Socket
  readonly #owner: ConnectionOwner
  readonly #heads: FastHeads
  #reply: FastReply | null = null
  /** The bytes of the next request that have come. */
  #held: Buffer[] = []
  #heldBytes = 0
  /** Bytes that the next request has in all; 0: not known. */
  #expected = 0
  #used = false
  /** Of the clock, since something last came or went. */
  #turns = 0
  /** By `performance.now()`. */
  gathersSince = 0

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.#socket = socket
    this.#owner = owner
    this.#heads = new FastHeads(owner.options.paths)
    socket.on('data', this.#data).on('drain', this.#drained)
    socket.on('end', this.#ended).on('error', ignore).on('close', this.#closed)
  }

  /** Neither an answer nor a request is in progress. Of a new connection the first request is on its way. */
  get idle(): boolean {
    return this.#reply === null && this.#heldBytes === 0 && (this.#used || this.#turns > 1)
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

  #data = (bytes: Buffer): void => {
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    if (this.#heldBytes < this.#expected) return
    if (this.#reply === null) this.#read()
    // A client that sends on before its answer has come is not listened to beyond this.
    else if (this.#heldBytes > LARGEST) this.#socket.pause()
  }

  #read(): void {
    const bytes = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held)
    const end = bytes.indexOf('\r\n\r\n', 0, 'latin1') + 4
    const head = end < 4 || end > LARGEST_HEAD ? null : this.#heads.read(bytes.toString('latin1', 0, end))
    if (head === null || end + head.length > LARGEST) return this.handOver()
    const whole = end + head.length
    if (whole > bytes.length) return this.#gather(bytes, whole)
    if (this.#expected > 0) this.#owner.gathered(this)
    this.#expected = 0
    this.#held = whole === bytes.length ? [] : [bytes.subarray(whole)]
    this.#heldBytes = bytes.length - whole
    this.#answer(head.url, head.headers, bytes.subarray(end, whole))
  }

  #gather(bytes: Buffer, expected: number): void {
    this.#held = [bytes]
    this.#expected = expected
    this.#turns = 0
    this.gathersSince = performance.now()
    this.#owner.gathers(this)
  }

  #answer(url: string, headers: IncomingHttpHeaders, whole: Buffer): void {
    this.#used = true
    const reply = (this.#reply = new FastReply(this.#socket, this))
    this.#owner.options.answer({ method: 'POST', url, headers, socket: this.#socket, whole }, reply)
  }

  over(stays: boolean): void {
    this.#reply = null
    this.#turns = 0
    // Further bytes are nobody's to answer: their sender sees that they were not.
    if (!stays) return this.#socket.off('data', this.#data).destroySoon()
    if (this.#heldBytes > LARGEST) this.#socket.resume()
    if (this.#heldBytes > 0) this.#read()
  }

  /** The full server goes on from the first byte that was not answered. */
  handOver(): void {
    const socket = this.#socket
    socket.off('data', this.#data).off('drain', this.#drained)
    socket.off('end', this.#ended).off('error', ignore).off('close', this.#closed)
    this.#owner.gone(this)
    // Else what is put back would wait for a read that is not ours to make.
    socket.pause()
    socket.unshift(Buffer.concat(this.#held))
    this.#owner.options.handOver(socket)
    socket.resume()
  }

  #ended = (): void => void this.#socket.end()

  #drained = (): void => this.#reply?.drained()

  #closed = (): void => {
    this.#owner.gone(this)
    this.#reply?.lost()
  }
}

/** A socket's error is told by its closing. */
const ignore = (): void => {}
