/** The page's side of a terminal: a WebSocket that reconnects and resumes. */
import { uk } from '../../shared/api.ts'
import { refusal, sayError } from '../../ui/calls/errors.ts'

export type LineState =
  | { type: 'connecting' }
  | { type: 'open' }
  /** The connection was lost; a reconnect is running. */
  | { type: 'lost' }
  | { type: 'ended'; exitCode: number | null; signal: string | null }
  | { type: 'refused'; why: string }

export interface TerminalHandlers {
  state(state: LineState): void
  snapshot(data: string): void
  bytes(bytes: Uint8Array): void
  resize(cols: number, rows: number): void
  gap(bytes: number): void
}

type ServerMessage =
  | { type: 'snapshot'; data: string; at: number }
  | { type: 'resize'; cols: number; rows: number }
  | { type: 'gap'; from: number; to: number }
  | { type: 'ended'; exit_code: number | null; signal: string | null }
  | { type: 'typed'; seq: number }

const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 10_000
/** The buffer limit for output. Beyond it, output is dropped and the screen requested again. */
const MAX_UNDRAWN = 4_194_304
/** Keeps messages below 32,768 bytes: a UTF-16 code unit takes up to three bytes. */
const MAX_TYPED = 10_000
const CLOSED = { ended: 1000, gone: 4404, noRight: 1008 }

export class TerminalConnection {
  readonly #computerId: string
  readonly #terminalId: string
  readonly #heard: TerminalHandlers
  /** Identifies this page, so that the computer applies repeated input once. */
  readonly #viewer = crypto.randomUUID().replaceAll('-', '')
  readonly #left = new AbortController()
  #socket: WebSocket | null = null
  /** The output offset known here. */
  #at: number | null = null
  #seq = 0
  /** Input that isn't acknowledged yet. */
  #typed: { seq: number; data: string }[] = []
  #size: { cols: number; rows: number } | null = null
  #undrawn = 0
  #behind = false
  #waitMs = FIRST_WAIT_MS
  #ended: LineState | null = null

  constructor(computerId: string, terminalId: string, heard: TerminalHandlers) {
    this.#computerId = computerId
    this.#terminalId = terminalId
    this.#heard = heard
    heard.state({ type: 'connecting' })
    // Back online: reconnect immediately.
    window.addEventListener('online', () => this.#again(0), { signal: this.#left.signal })
    void this.#connect()
  }

  type(data: string): void {
    for (const part of partsOf(data)) {
      const input = { seq: this.#seq++, data: part }
      this.#typed.push(input)
      this.#send({ type: 'input', ...input })
    }
  }

  resize(cols: number, rows: number): void {
    this.#size = { cols, rows }
    this.#send({ type: 'resize', cols, rows })
  }

  drawn(bytes: number): void {
    this.#undrawn -= bytes
    if (!this.#behind || this.#undrawn > 0) return
    this.#behind = false
    void this.#connect()
  }

  leave(): void {
    this.#left.abort()
    this.#drop()
  }

  #timer: ReturnType<typeof setTimeout> | undefined
  #again(ms: number): void {
    if (this.#socket !== null || this.#behind || this.#ended || this.#connecting || this.#left.signal.aborted) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#connect(), ms)
  }

  #connecting = false
  async #connect(): Promise<void> {
    if (this.#connecting || this.#left.signal.aborted) return
    this.#connecting = true
    clearTimeout(this.#timer)
    try {
      const ids = { id: this.#computerId, terminal_id: this.#terminalId }
      const { url } = await uk.computers.terminal_ticket(ids, { signal: this.#left.signal })
      this.#open(this.#address(url))
    } catch (error) {
      if (this.#left.signal.aborted) return
      const status = refusal(error)?.status ?? 500
      if (status >= 400 && status < 500 && status !== 429 && status !== 409)
        return this.#end({ type: 'refused', why: sayError(error) })
      this.#connecting = false
      this.#lose()
    } finally {
      this.#connecting = false
    }
  }

  /** Uses the page's own address, which may be an alias of the server. */
  #address(ticket: string): string {
    const { pathname, search } = new URL(ticket)
    const url = new URL(pathname + search, location.href)
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    url.searchParams.set('viewer', this.#viewer)
    if (this.#at !== null) url.searchParams.set('from', String(this.#at))
    return url.href
  }

  #open(url: string): void {
    const socket = new WebSocket(url)
    socket.binaryType = 'arraybuffer'
    this.#socket = socket
    socket.addEventListener('open', () => {
      if (this.#socket !== socket) return
      this.#waitMs = FIRST_WAIT_MS
      this.#heard.state({ type: 'open' })
      if (this.#size !== null) this.#send({ type: 'resize', ...this.#size })
      for (const input of this.#typed) this.#send({ type: 'input', ...input })
    })
    socket.addEventListener('message', ({ data }) => {
      if (this.#socket !== socket) return
      if (typeof data === 'string') this.#hear(JSON.parse(data) as ServerMessage)
      else this.#take(new Uint8Array(data as ArrayBuffer))
    })
    socket.addEventListener('close', ({ code }) => {
      if (this.#socket !== socket) return
      this.#socket = null
      if (this.#ended) return
      if (code === CLOSED.gone) return this.#end({ type: 'refused', why: 'This terminal was closed.' })
      if (code === CLOSED.noRight)
        return this.#end({ type: 'refused', why: 'You no longer have access to terminals on this computer.' })
      if (code === CLOSED.ended) return this.#end({ type: 'ended', exitCode: null, signal: null })
      this.#lose()
    })
  }

  #hear(said: ServerMessage): void {
    switch (said.type) {
      case 'snapshot':
        this.#at = said.at
        return this.#heard.snapshot(said.data)
      case 'resize':
        return this.#heard.resize(said.cols, said.rows)
      case 'gap':
        return this.#heard.gap(said.to - said.from)
      case 'typed':
        return void (this.#typed = this.#typed.filter(({ seq }) => seq > said.seq))
      case 'ended':
        return this.#end({ type: 'ended', exitCode: said.exit_code, signal: said.signal })
    }
  }

  #take(bytes: Uint8Array): void {
    if (this.#at !== null) this.#at += bytes.length
    this.#undrawn += bytes.length
    this.#heard.bytes(bytes)
    if (this.#undrawn <= MAX_UNDRAWN) return
    this.#behind = true
    this.#drop()
  }

  #lose(): void {
    this.#heard.state({ type: 'lost' })
    this.#again(this.#waitMs * (0.5 + Math.random() / 2))
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS)
  }

  #end(state: LineState): void {
    this.#ended = state
    this.#heard.state(state)
  }

  #drop(): void {
    const socket = this.#socket
    this.#socket = null
    socket?.close()
  }

  #send(message: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message))
  }
}

/** Splits input into messages without splitting characters. */
export function partsOf(data: string): string[] {
  const parts: string[] = []
  for (let from = 0; from < data.length;) {
    let to = Math.min(from + MAX_TYPED, data.length)
    if (to < data.length && /[\uD800-\uDBFF]/.test(data[to - 1]!)) to--
    parts.push(data.slice(from, to))
    from = to
  }
  return parts
}
