import type { Output as OutputOf } from '#daemon-protocol/operations.ts'
import type { Pty } from '../processes/pty.ts'
import type { Ending } from '../processes/proc.ts'
import { Writer } from '../processes/writer.ts'
import { Screen } from '#packages/terminal-screen/screen.ts'
import { uptimeMs } from '../../time/uptime.ts'
import { type Size, TerminalLog } from './log.ts'
import { type Viewing, wantedSize } from './sizes.ts'

export type TerminalRow = OutputOf<'terminal.open'>

/** Bytes queued for the parser: above the first limit the program waits, below the second it continues. */
const BACKLOG = 262_144
const CAUGHT_UP = 65_536
const VIEWERS = 1_000
/** The number of remembered write keys: more than can be in flight over a broken link. */
const KEYS = 256

export interface Snapshot {
  at: number
  bytes: Buffer
}

export interface Facts {
  terminal_id: string
  name: string | null
  created_at: string
  /** Per viewer, the number of its last accepted input. */
  typed: [viewer: string, seq: number][]
  keys?: readonly string[]
}

export interface End extends Ending {
  status: 'ended' | 'lost'
  ended_at: string
}

export interface Live {
  pty: Pty
  writer: Writer
  screen: Screen
}

export class Terminal {
  readonly facts: Facts
  readonly log: TerminalLog
  readonly #typed: Map<string, number>
  readonly #viewings = new Map<object, Viewing>()
  #live: Live | null = null
  #last: Snapshot | null = null
  #status: TerminalRow['status'] = 'open'
  #endedAt: string | null = null
  #endedUp = 0
  readonly #keys: Set<string>
  /** Resolves when all output is on the screen and the end is known. */
  settled: Promise<void> = Promise.resolve()
  ending: Ending = { exit_code: null, signal: null }
  onChange: () => void = () => {}

  constructor(facts: Facts, log: TerminalLog) {
    this.facts = facts
    this.log = log
    this.#typed = new Map(facts.typed)
    this.#keys = new Set(facts.keys)
  }

  static open(facts: Facts, size: Size, pty: Pty): Terminal {
    const terminal = new Terminal(facts, new TerminalLog([{ at: 0, ...size }]))
    terminal.run(pty, new Screen(size, 0))
    return terminal
  }

  /** Resumes a terminal from another keeper: the screen as of `from.at`, and later output from the log. */
  static resume(facts: Facts, log: TerminalLog, from: Snapshot, pty: Pty, typedAhead: Buffer): Terminal {
    const terminal = new Terminal(facts, log)
    const { size } = log.sizeAt(from.at)
    const screen = Screen.from(size, from.at, from.bytes)
    for (let at = from.at; at < log.ring.end;) {
      const { until } = log.sizeAt(at)
      const bytes = log.ring.read(at, until - at)
      screen.write(bytes)
      at += bytes.length
      const { size } = log.sizeAt(at)
      screen.resize(size.cols, size.rows)
    }
    terminal.run(pty, screen)
    terminal.#live!.writer.write(typedAhead)
    return terminal
  }

  static restore(facts: Facts, log: TerminalLog, last: Snapshot, end: End): Terminal {
    const terminal = new Terminal(facts, log)
    terminal.#last = last
    terminal.#status = end.status
    terminal.#endedAt = end.ended_at
    // If it ended before this process started, only the wall clock is known.
    terminal.#endedUp = uptimeMs() - Math.max(0, Date.now() - Date.parse(end.ended_at))
    terminal.ending = { exit_code: end.exit_code, signal: end.signal }
    return terminal
  }

  get isOpen(): boolean {
    return this.#status === 'open'
  }
  get endedAt(): string | null {
    return this.#endedAt
  }
  /** In ms. Null while open. */
  get endedForMs(): number | null {
    return this.#endedAt === null ? null : uptimeMs() - this.#endedUp
  }
  get live(): Live | null {
    return this.#live
  }
  get typed(): [string, number][] {
    return [...this.#typed]
  }

  row(): TerminalRow {
    const { terminal_id, name, created_at } = this.facts
    return {
      terminal_id,
      name,
      status: this.#status,
      ...this.log.size,
      offset: this.log.ring.end,
      ...this.ending,
      created_at,
      ended_at: this.#endedAt,
    }
  }

  run(pty: Pty, screen: Screen): void {
    const { stream } = pty
    stream.on('data', (bytes: Buffer) => {
      this.log.push(bytes)
      screen.write(bytes)
      // The parser sets the program's pace, not the viewers.
      if (screen.backlog > BACKLOG) stream.pause()
      this.onChange()
    })
    screen.onParsed = () => {
      if (screen.backlog < CAUGHT_UP && stream.isPaused()) stream.resume()
    }
    this.#live = { pty, writer: new Writer(pty.master), screen }
    this.settled = pty.ended.then((ending) => this.#finish(ending))
  }

  snapshot(): Snapshot {
    const screen = this.#live?.screen
    if (screen === undefined) return this.#last!
    return { at: screen.at, bytes: screen.snapshot() }
  }

  async wholeSnapshot(): Promise<Snapshot> {
    await this.#live?.screen.parsed()
    return this.snapshot()
  }

  get keys(): readonly string[] {
    return [...this.#keys]
  }

  knows(key: string): boolean {
    return this.#keys.has(key)
  }

  know(key: string): void {
    this.#keys.add(key)
    for (const oldest of this.#keys) if (this.#keys.size > KEYS) this.#keys.delete(oldest)
  }

  /** Types input. A viewer's repeated `seq` is ignored; null skips that check. `view`: the window it was typed in. */
  type(viewer: string, bytes: Uint8Array, seq: number | null, view?: object): void {
    if (seq !== null) {
      if (seq <= (this.#typed.get(viewer) ?? -1)) return
      this.#typed.delete(viewer)
      this.#typed.set(viewer, seq)
      for (const oldest of this.#typed.keys()) if (this.#typed.size > VIEWERS) this.#typed.delete(oldest)
    }
    this.#live?.writer.write(bytes)
    const viewing = view && this.#viewings.get(view)
    if (viewing) {
      viewing.active = uptimeMs()
      this.#fit()
    }
  }

  view(view: object, { cols, rows }: Size): void {
    const now = uptimeMs()
    this.#viewings.set(view, { cols, rows, active: now, resized: now })
    this.#fit()
  }

  leave(view: object): void {
    if (this.#viewings.delete(view)) this.#fit()
  }

  resize(size: Size): void {
    const { cols, rows } = this.log.size
    if (this.#live === null || (cols === size.cols && rows === size.rows)) return
    this.log.resize(size)
    this.#live.screen.resize(size.cols, size.rows)
    this.#live.pty.resize(size.cols, size.rows)
    this.onChange()
  }

  #fit(): void {
    const size = wantedSize([...this.#viewings.values()], uptimeMs())
    if (size) this.resize(size)
  }

  async #finish(ending: Ending): Promise<void> {
    const { screen, writer } = this.#live!
    writer.stop()
    this.#last = await this.wholeSnapshot()
    this.#live = null
    screen.dispose()
    this.ending = ending
    this.#status = 'ended'
    this.#endedAt = new Date().toISOString()
    this.#endedUp = uptimeMs()
    this.log.wake()
    this.onChange()
  }
}
