import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { type Answer, NotAnAnswer, UNFINISHED, readAnswer } from './read-answer.ts'

/** Longer than anything here takes. */
const SILENT_MS = 30_000

const tailOf = (bytes: Buffer): string => bytes.toString('latin1', Math.max(0, bytes.length - 200))

/**
 * One connection, kept: answers are read off it in the order of their requests, and every byte must belong to one of
 * them.
 */
export class KeptConnection implements AsyncDisposable {
  readonly socket: Socket
  #bytes: Buffer = Buffer.alloc(0)
  /** Not yet joined: an answer of many pieces is put together once. */
  #parts: Buffer[] = []
  #ended = false
  #wake: (() => void) | null = null
  /** Answers that were read off it. */
  answers = 0

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (part: Buffer) => {
      this.#parts.push(part)
      this.#wake?.()
    })
    // The reason for a break shows in what came before it.
    socket
      .on('error', () => {})
      .on('close', () => {
        this.#ended = true
        this.#wake?.()
      })
  }

  static async open(origin: string): Promise<KeptConnection> {
    const socket = connect({
      port: Number(new URL(origin).port),
      host: '127.0.0.1',
      allowHalfOpen: true,
      noDelay: true,
    })
    await once(socket, 'connect')
    socket.on('end', () => socket.end())
    return new KeptConnection(socket)
  }

  get ended(): boolean {
    return this.#ended
  }

  send(bytes: Buffer | string): void {
    this.socket.write(bytes)
  }

  /** The next answer, to a request by `method`. Null: the connection ended without a byte of it. */
  async answer(method: string): Promise<Answer | null> {
    for (;;) {
      const bytes = this.#joined()
      if (this.#ended && bytes.length === 0) return null
      const read = bytes.length === 0 ? UNFINISHED : readAnswer(bytes, method, this.#ended)
      if (read !== UNFINISHED) {
        this.#bytes = bytes.subarray(read.length)
        this.answers++
        return read.answer
      }
      await this.#more()
    }
  }

  /** Waits until these bytes stand in what was not read yet. */
  async seen(words: string): Promise<void> {
    while (!this.#joined().includes(words)) {
      if (this.#ended) throw new NotAnAnswer(`the connection ends without ${JSON.stringify(words)}`)
      await this.#more()
    }
  }

  /** The bytes that came and were not read, once the connection is over. */
  async rest(): Promise<Buffer> {
    while (!this.#ended) await this.#more()
    return this.#joined()
  }

  #joined(): Buffer {
    if (this.#parts.length > 0) {
      this.#bytes = Buffer.concat([this.#bytes, ...this.#parts])
      this.#parts = []
    }
    return this.#bytes
  }

  async #more(): Promise<void> {
    if (this.#parts.length > 0 || this.#ended) return
    const silent = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(resolve, SILENT_MS, true)
      this.#wake = () => {
        clearTimeout(timer)
        resolve(false)
      }
    })
    this.#wake = null
    if (silent) throw new NotAnAnswer(`${SILENT_MS} ms of silence after ${JSON.stringify(tailOf(this.#bytes))}`)
  }

  /** Nothing more is asked for: nothing more may come. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.end()
    const rest = await this.rest()
    if (rest.length > 0) throw new NotAnAnswer(`bytes of nobody's: ${JSON.stringify(rest.toString('latin1', 0, 200))}`)
  }
}
