import { randomUUID } from 'node:crypto'
import { refuse } from '#core/errors.ts'
import { CHANNEL } from '#daemon-protocol/channels.ts'
import type { Input, Output } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { type Gives, launch } from '../processes/launch.ts'
import { openPty } from '../processes/pty.ts'
import { signalSession } from '../processes/session.ts'
import { Shelf } from './shelf.ts'
import { Terminal, type TerminalRow } from './terminal.ts'
import { show } from './viewer.ts'

const READABLE_MS = 24 * 3_600_000
const SHELVE_MS = 2_000
const HANG_UP_MS = 2_000
/** The limit of input the program hasn't read. */
const TYPED_AHEAD = 1_048_576
/** The total output kept for ended terminals; beyond that only their screens. */
const KEPT_BYTES = 64 * 1_048_576

export class Terminals {
  readonly #shelf: Shelf
  readonly #addon: string | undefined
  readonly #gives: Gives | undefined
  readonly #byId = new Map<string, Terminal>()
  readonly #opening = new Map<string, Promise<Terminal>>()
  readonly #toShelve = new Map<Terminal, NodeJS.Timeout>()

  /** `carried`: terminals taken over from another keeper. `addon`: the path of `pty.node`. */
  constructor(folder: string, addon?: string, carried: readonly Terminal[] = [], gives?: Gives) {
    this.#gives = gives
    this.#shelf = new Shelf(folder)
    this.#addon = addon
    for (const terminal of carried) this.#add(terminal)
    for (const { terminal, program } of this.#shelf.read()) {
      if (this.#byId.has(terminal.facts.terminal_id)) continue
      this.#add(terminal)
      // Its keeper was killed and the kernel hung up. It stays on disk until its program is killed, so that the
      // next keeper continues if this one dies.
      const end = (): void => {
        if (program) signalSession(program.pid, program.started, 'SIGKILL')
        this.#shelveSoon(terminal)
      }
      if (program) setTimeout(end, HANG_UP_MS)
      else end()
    }
  }

  get busy(): boolean {
    this.#forget()
    return this.#opening.size > 0 || this.all().some(({ isOpen }) => isOpen)
  }

  all(): Terminal[] {
    return [...this.#byId.values()]
  }

  /** Opening an existing ID returns that terminal, in any state. */
  async open(input: Input<'terminal.open'>): Promise<TerminalRow> {
    const { terminal_id } = input
    const existing = this.#byId.get(terminal_id)
    if (existing) return existing.row()
    let opening = this.#opening.get(terminal_id)
    if (!opening) {
      opening = this.#start(input).finally(() => this.#opening.delete(terminal_id))
      this.#opening.set(terminal_id, opening)
    }
    return (await opening).row()
  }

  list(): Pick<Output<'terminal.list'>, 'terminals'> {
    this.#forget()
    return { terminals: this.all().map((terminal) => terminal.row()) }
  }

  async write({ terminal_id, viewer, data, seq, key }: Input<'terminal.write'>): Promise<TerminalRow> {
    const terminal = this.#open(terminal_id)
    if (key !== undefined && terminal.knows(key)) return terminal.row()
    const bytes = Buffer.from(data, 'base64')
    if ((terminal.live?.writer.waiting ?? 0) + bytes.length > TYPED_AHEAD)
      refuse('limit_reached', { message: 'The program in the terminal hasn’t read the previous input yet.' })
    terminal.type(viewer, bytes, seq)
    if (key !== undefined) terminal.know(key)
    return terminal.row()
  }

  async resize({ terminal_id, cols, rows }: Input<'terminal.resize'>): Promise<TerminalRow> {
    const terminal = this.#open(terminal_id)
    terminal.resize({ cols, rows })
    return terminal.row()
  }

  /** Hangs up like closing a window and kills the shell after 2 s. Removes an ended terminal. */
  async close({ terminal_id, signal }: Input<'terminal.close'>): Promise<TerminalRow> {
    const terminal = this.#find(terminal_id)
    const { live } = terminal
    if (live === null) {
      this.#byId.delete(terminal_id)
      await this.#unshelve(terminal)
      return terminal.row()
    }
    const { child, ended } = live.pty
    signalSession(child.pid, child.started, (signal ?? 'SIGHUP') as NodeJS.Signals)
    if (signal !== null) return terminal.row()
    const timer = setTimeout(() => signalSession(child.pid, child.started, 'SIGKILL'), HANG_UP_MS)
    await ended
    clearTimeout(timer)
    await terminal.settled
    return terminal.row()
  }

  async read(input: Input<'terminal.read'>, stream: Stream, signal: AbortSignal): Promise<Output<'terminal.read'>> {
    const { terminal_id, max_bytes, wait_ms, screen } = input
    const terminal = this.#find(terminal_id)
    const { log } = terminal
    const requested = input.from ?? Math.max(log.ring.start, log.ring.end - max_bytes)
    const until = performance.now() + wait_ms
    while (log.ring.end <= requested && terminal.isOpen && !signal.aborted && performance.now() < until)
      await log.change(signal, until - performance.now())
    const snapshot = screen ? await terminal.wholeSnapshot() : null
    if (snapshot) await stream.write(snapshot.bytes, CHANNEL.snapshot)
    const { ring } = log
    const from = Math.min(ring.end, Math.max(requested, ring.start))
    const bytes = ring.read(from, max_bytes)
    if (bytes.length > 0) await stream.write(bytes, CHANNEL.body, from)
    return {
      terminal: terminal.row(),
      from,
      offset: from + bytes.length,
      gap: from > requested,
      dropped_bytes: Math.max(0, from - requested),
      at: snapshot?.at ?? null,
    }
  }

  async attach(
    { terminal_id, viewer, from }: Input<'terminal.attach'>,
    stream: Stream,
    signal: AbortSignal,
  ): Promise<object> {
    const terminal = this.#find(terminal_id)
    this.#listen(terminal, viewer, stream).catch(() => {})
    try {
      await show(terminal, stream, from, signal)
    } finally {
      terminal.leave(stream)
    }
    return {}
  }

  async #listen(terminal: Terminal, viewer: string, stream: Stream): Promise<void> {
    for await (const incoming of stream) {
      if (incoming.type === 'bytes') terminal.type(viewer, incoming.bytes, null, stream)
      if (incoming.type === 'event') {
        const event = incoming.event as { [field in 'type' | 'data' | 'seq' | 'viewer' | 'cols' | 'rows']?: unknown }
        if (event.type === 'input' && typeof event.data === 'string') {
          const by = typeof event.viewer === 'string' ? event.viewer : viewer
          const seq = typeof event.seq === 'number' ? event.seq : null
          terminal.type(by, Buffer.from(event.data, 'base64'), seq, stream)
          if (seq !== null) stream.event({ type: 'typed', viewer: by, seq })
        }
        if (event.type === 'resize' && isSize(event.cols) && isSize(event.rows))
          terminal.view(stream, { cols: event.cols, rows: event.rows })
      }
      // Backpressure for input, on this viewer's link only.
      const writer = terminal.live?.writer
      if (writer && writer.waiting > TYPED_AHEAD) await writer.written()
    }
  }

  async #start({ terminal_id, argv, cwd, env, user, cols, rows, name }: Input<'terminal.open'>): Promise<Terminal> {
    const mark = randomUUID()
    const program = await launch(
      { argv, cwd, env: { TERM: 'xterm-256color', COLORTERM: 'truecolor', ...env }, user },
      mark,
      this.#gives,
    )
    const pty = await openPty(program, cols, rows, this.#addon)
    const facts = { terminal_id, name, created_at: new Date().toISOString(), typed: [] }
    const terminal = Terminal.open(facts, { cols, rows }, pty)
    this.#add(terminal)
    await this.#shelve(terminal)
    return terminal
  }

  #add(terminal: Terminal): void {
    this.#byId.set(terminal.facts.terminal_id, terminal)
    terminal.onChange = () => this.#shelveSoon(terminal)
  }

  #find(id: string): Terminal {
    return this.#byId.get(id) ?? refuse('not_found', { message: 'The terminal doesn’t exist on this computer.' })
  }

  #open(id: string): Terminal {
    const terminal = this.#find(id)
    if (!terminal.isOpen) refuse('invalid_state', { message: 'The terminal has ended.' })
    return terminal
  }

  #shelveSoon(terminal: Terminal): void {
    if (this.#toShelve.has(terminal)) return
    const wait = terminal.isOpen ? SHELVE_MS : 0
    this.#toShelve.set(
      terminal,
      setTimeout(() => void this.#shelve(terminal), wait),
    )
  }

  async #shelve(terminal: Terminal): Promise<void> {
    clearTimeout(this.#toShelve.get(terminal))
    this.#toShelve.delete(terminal)
    if (this.#byId.get(terminal.facts.terminal_id) !== terminal) return
    // A full disk loses the stored screen, not the terminal.
    await this.#shelf.write(terminal, terminal.snapshot()).catch(() => {})
  }

  async shelveAll(): Promise<void> {
    await Promise.all([...this.#toShelve.keys()].map((terminal) => this.#shelve(terminal)))
  }

  async #unshelve(terminal: Terminal): Promise<void> {
    clearTimeout(this.#toShelve.get(terminal))
    this.#toShelve.delete(terminal)
    await this.#shelf.remove(terminal.facts.terminal_id)
  }

  #forget(): void {
    for (const terminal of this.all()) {
      if ((terminal.endedForMs ?? 0) < READABLE_MS) continue
      this.#byId.delete(terminal.facts.terminal_id)
      void this.#unshelve(terminal)
    }
    const closed = this.all().filter(({ isOpen }) => !isOpen)
    let bytes = closed.reduce((sum, { log }) => sum + log.ring.end - log.ring.start, 0)
    for (const { log } of closed) {
      if (bytes <= KEPT_BYTES) return
      bytes -= log.ring.end - log.ring.start
      log.clear()
    }
  }
}

const isSize = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1_000
