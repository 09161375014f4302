import headless from '@xterm/headless'
import { type ColourChange, type Core, coreOf, guardErase, newCell, resize } from './internals.ts'
import { Pending } from './pending.ts'
import { snapshot } from './snapshot.ts'
import { takeTurns } from './turns.ts'

/** Lines above the screen in a snapshot. */
export const LINES_ABOVE = 200
/** Bytes per turn: up to 2 ms of parsing. */
const SLICE = 16_384

type Step = Buffer | { cols: number; rows: number }

/** The screen after the byte at `at`. Bytes wait for their turn, so the writer checks `backlog` and pauses the program. */
export class Screen {
  readonly #terminal: InstanceType<typeof headless.Terminal>
  readonly #core: Core
  readonly #palette = new Map<number, string>()
  readonly #pending = new Pending()
  readonly #steps: Step[] = []
  #waiting: (() => void)[] = []
  #at: number
  #backlog = 0
  #cols: number
  #rows: number
  /** Called after each slice. */
  onParsed: () => void = () => undefined

  constructor(size: { cols: number; rows: number }, at: number) {
    // The minimum of xterm.js.
    this.#cols = Math.max(2, size.cols)
    this.#rows = size.rows
    this.#terminal = new headless.Terminal({
      cols: this.#cols,
      rows: this.#rows,
      scrollback: LINES_ABOVE,
      allowProposedApi: true,
      logLevel: 'off',
    })
    this.#core = coreOf(this.#terminal)
    guardErase(this.#terminal)
    this.#core._inputHandler.onColor((changes) => changes.forEach((change) => this.#recolour(change)))
    this.#at = at
  }

  /** Restores a snapshot. */
  static from(size: { cols: number; rows: number }, at: number, drawn: Buffer): Screen {
    const screen = new Screen(size, at)
    screen.#parse(drawn)
    return screen
  }

  get at(): number {
    return this.#at
  }

  /** Unparsed bytes. */
  get backlog(): number {
    return this.#backlog
  }

  write(bytes: Buffer): void {
    this.#backlog += bytes.length
    this.#steps.push(bytes)
    takeTurns(this.#slice)
  }

  /** Applies after the bytes written before. */
  resize(cols: number, rows: number): void {
    this.#steps.push({ cols: Math.max(2, cols), rows })
    this.#resizeNow()
  }

  /** Resolves when all bytes written before are parsed. */
  async parsed(): Promise<void> {
    const until = this.#at + this.#backlog
    while (this.#at < until && this.#steps.length > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** The bytes that draw the screen and the lines above it in a reset terminal of this size. */
  snapshot(): Buffer {
    const drawn = snapshot(this.#core, newCell(this.#terminal), this.#cols, this.#rows, this.#palette)
    return Buffer.concat([Buffer.from(drawn), this.#pending.bytes(this.#core)])
  }

  dispose(): void {
    this.#steps.length = 0
    this.#backlog = 0
    this.#terminal.dispose()
    this.#tell()
  }

  readonly #slice = (): boolean => {
    const step = this.#steps.shift()
    if (!Buffer.isBuffer(step)) return false
    const slice = step.subarray(0, SLICE)
    if (step.length > SLICE) this.#steps.unshift(step.subarray(SLICE))
    this.#parse(slice)
    this.#at += slice.length
    this.#backlog -= slice.length
    this.#resizeNow()
    this.#tell()
    this.onParsed()
    return this.#steps.length > 0
  }

  #resizeNow(): void {
    for (let step = this.#steps[0]; step !== undefined && !Buffer.isBuffer(step); step = this.#steps[0]) {
      this.#steps.shift()
      resize(this.#terminal, step.cols, step.rows)
      this.#cols = step.cols
      this.#rows = step.rows
    }
  }

  #parse(slice: Buffer): void {
    try {
      this.#core._inputHandler.parse(slice)
      this.#pending.taken(slice, this.#core)
    } catch {
      // A bug of xterm.js may only cost the content of this screen.
      this.#terminal.reset()
    }
  }

  #tell(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const go of waiting) go()
  }

  #recolour({ type, index, color }: ColourChange): void {
    if (type === 1 && index !== undefined && color)
      this.#palette.set(index, `rgb:${color.map((part) => part.toString(16).padStart(2, '0')).join('/')}`)
    if (type === 2 && index !== undefined) this.#palette.delete(index)
    if (type === 2 && index === undefined) for (const at of this.#palette.keys()) if (at < 256) this.#palette.delete(at)
  }
}
