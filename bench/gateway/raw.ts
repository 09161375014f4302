/**
 * The rival that does nothing, as fast as it can be written: sockets in, sockets out, kept on both sides. Requests and
 * answers get a head of the proxy's own, as any gateway's do; bodies pass as they come, and of them only the end is
 * looked for (RFC 9112, 6). It trusts both sides: no check, no limit, no clock. Argument: the upstream's port.
 */
import { type Socket, connect, createServer } from 'node:net'

const port = Number(process.argv[2])

/** The rest of the message that passes. */
class Message {
  /** Bytes of a body with a length, or of a chunk and its line end. */
  left = 0
  chunked = false
  #line = ''

  /** Takes the body's length from a head. False: it has none. */
  begin(head: string): boolean {
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    this.chunked = length === null && /\r\ntransfer-encoding: *chunked/i.test(head)
    this.left = length === null ? 0 : Number(length[1])
    return this.chunked || this.left > 0
  }

  /** The message's end in these bytes, read from `at`; -1: not here. */
  end(bytes: Buffer, at: number): number {
    for (;;) {
      const here = Math.min(this.left, bytes.length - at)
      this.left -= here
      at += here
      if (!this.chunked) return this.left === 0 ? at : -1
      if (at === bytes.length) return -1
      const stop = bytes.indexOf(10, at)
      this.#line += bytes.toString('latin1', at, stop < 0 ? bytes.length : stop)
      if (stop < 0) return -1
      at = stop + 1
      const size = Number.parseInt(this.#line, 16)
      this.#line = ''
      if (Number.isNaN(size)) return at
      // Behind the last chunk an empty line ends the message.
      this.left = size === 0 ? 0 : size + 2
    }
  }
}

/** Bytes that do not hold the end of a head yet, with those before them. */
const joined = (held: Buffer | null, bytes: Buffer): Buffer => (held === null ? bytes : Buffer.concat([held, bytes]))

const free: Upstream[] = []
// Reading is synchronous, so that all connections share one place to read into.
const inbox = Buffer.allocUnsafeSlow(65_536)

class Upstream {
  readonly socket: Socket
  client: Client | null = null
  #held: Buffer | null = null
  #message: Message | null = null

  constructor() {
    const onread = { buffer: inbox, callback: (size: number) => this.#read(inbox.subarray(0, size)) }
    this.socket = connect({ port, host: '127.0.0.1', onread }).setNoDelay(true)
    this.socket.on('error', () => {}).on('drain', () => this.client?.socket.resume())
    this.socket.on('close', () => {
      const at = free.indexOf(this)
      if (at >= 0) free.splice(at, 1)
      this.client?.socket.destroy()
    })
  }

  #read(given: Buffer): boolean {
    if (this.client === null) return (this.socket.destroy(), false)
    const bytes = joined(this.#held, given)
    let at = 0
    let head = ''
    if (this.#message === null) {
      const end = bytes.indexOf('\r\n\r\n', 0, 'latin1')
      if (end < 0) {
        this.#held = Buffer.from(bytes)
        return true
      }
      this.#held = null
      const said = bytes.toString('latin1', 0, end + 2)
      this.#message = new Message()
      const long = this.#message.begin(said)
      const type = /\r\ncontent-type: *([^\r]+)/i.exec(said)?.[1] ?? 'application/json'
      const framing = this.#message.chunked ? 'transfer-encoding: chunked' : `content-length: ${this.#message.left}`
      head = `HTTP/1.1 ${said.slice(9, said.indexOf('\r\n'))}\r\ncontent-type: ${type}\r\n${framing}\r\n\r\n`
      at = end + 4
      if (!long) return this.#pass(head, bytes, at, at)
    }
    return this.#pass(head, bytes, at, this.#message.end(bytes, at))
  }

  #pass(head: string, bytes: Buffer, from: number, end: number): boolean {
    const { socket } = this.client!
    const taken =
      head === ''
        ? socket.write(Buffer.from(bytes.subarray(from)))
        : socket.write(head + bytes.toString('latin1', from, bytes.length), 'latin1')
    if (!taken) this.socket.pause()
    if (end < 0) return true
    const client = this.client!
    this.client = null
    this.#message = null
    this.socket.resume()
    free.push(this)
    client.next()
    return true
  }
}

class Client {
  readonly socket: Socket
  #upstream: Upstream | null = null
  #message: Message | null = null
  #held: Buffer | null = null
  /** Its request has wholly gone on. */
  #asked = false

  constructor(socket: Socket) {
    this.socket = socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => this.#read(bytes))
    socket.on('error', () => {}).on('close', () => this.#upstream?.socket.destroy())
    socket.on('drain', () => this.#upstream?.socket.resume())
  }

  #read(given: Buffer): void {
    const bytes = joined(this.#held, given)
    this.#held = null
    if (this.#asked) return void (this.#held = bytes)
    let at = 0
    let head = ''
    if (this.#message === null) {
      const end = bytes.indexOf('\r\n\r\n', 0, 'latin1')
      if (end < 0) return void (this.#held = bytes)
      const said = bytes.toString('latin1', 0, end + 2)
      this.#message = new Message()
      this.#message.begin(said)
      const framing = this.#message.chunked ? 'transfer-encoding: chunked' : `content-length: ${this.#message.left}`
      const key = /\r\nauthorization: *([^\r]+)/i.exec(said)?.[1] ?? ''
      head = `${said.slice(0, said.indexOf('\r\n'))}\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nauthorization: ${key}\r\n${framing}\r\n\r\n`
      at = end + 4
      this.#upstream = free.pop() ?? new Upstream()
      this.#upstream.client = this
    }
    const end = this.#message.end(bytes, at)
    const { socket } = this.#upstream!
    const body = bytes.subarray(at, end < 0 ? bytes.length : end)
    let taken
    if (head === '') taken = socket.write(body)
    else if (body.length < 16_384) taken = socket.write(head + body.toString('latin1'), 'latin1')
    else {
      socket.cork()
      socket.write(head, 'latin1')
      taken = socket.write(body)
      socket.uncork()
    }
    if (!taken) this.socket.pause()
    if (end < 0) return
    this.#asked = true
    if (end < bytes.length) this.#held = bytes.subarray(end)
  }

  /** Its answer has wholly gone on. */
  next(): void {
    this.#upstream = null
    this.#message = null
    this.#asked = false
    if (this.#held === null) return
    const held = this.#held
    this.#held = null
    this.#read(held)
  }
}

const server = createServer((socket) => new Client(socket))
server.listen(0, '127.0.0.1', 4096, () =>
  process.stdout.write(`ready ${(server.address() as { port: number }).port}\n`),
)
