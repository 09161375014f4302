import headless from '@xterm/headless'
import { type ColourChange, type Core, coreOf, guardErase, newCell, resize } from './internals.ts'
import { Pending } from './pending.ts'
import { snapshot } from './snapshot.ts'
import { takeTurns } from './turns.ts'

/** Lines above the screen that a snapshot holds. */
export const LINES_ABOVE = 200
/** Takes up to 2 ms to parse; between two slices others have their turn. */
const SLICE = 16_384

type Step = Buffer | { cols: number; rows: number }

/**
 * The screen of a terminal as it is after the byte at `at`. Bytes wait for their turn to be parsed: whoever writes looks at
 * `backlog` and pauses the program.
 */
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
    // A terminal of xterm.js has at least two columns.
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

  /** One that another keeper drew. */
  static from(size: { cols: number; rows: number }, at: number, drawn: Buffer): Screen {
    const screen = new Screen(size, at)
    screen.#parse(drawn)
    return screen
  }

  get at(): number {
    return this.#at
  }

  /** Bytes that wait to be parsed. */
  get backlog(): number {
    return this.#backlog
  }

  write(bytes: Buffer): void {
    this.#backlog += bytes.length
    this.#steps.push(bytes)
    takeTurns(this.#slice)
  }

  /** Takes effect after what was written before. */
  resize(cols: number, rows: number): void {
    this.#steps.push({ cols: Math.max(2, cols), rows })
    this.#resizeNow()
  }

  /** Waits until all is parsed that was written before. */
  async parsed(): Promise<void> {
    const until = this.#at + this.#backlog
    while (this.#at < until && this.#steps.length > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** The bytes that draw the screen, and the lines above it, in a terminal of this size that has just been reset. */
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

  /** At each offset the screen has the size that the terminal has there. */
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
      // A fault of xterm.js costs this screen what is on it, and nothing else.
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
