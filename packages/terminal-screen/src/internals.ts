/**
 * Private state of `@xterm/headless` that a complete snapshot needs. The package is pinned, and `screen.test.ts` fails if
 * another version differs.
 */
import headless from '@xterm/headless'

export interface Attributes {
  /** Color in the low 26 bits, flags above. */
  fg: number
  bg: number
  extended: { _ext: number; readonly underlineColor: number; readonly urlId: number }
}

export interface Cell extends Attributes {
  getChars(): string
  getWidth(): number
}

export interface Line {
  readonly isWrapped: boolean
  loadCell(x: number, cell: Cell): Cell
}

type Charset = Readonly<Record<string, string>>

export interface ScreenBuffer {
  x: number
  readonly y: number
  readonly ybase: number
  readonly savedX: number
  savedY: number
  readonly savedCurAttrData: Attributes
  readonly savedCharset: Charset | undefined
  readonly scrollTop: number
  readonly scrollBottom: number
  readonly tabs: Readonly<Record<number, boolean>>
  readonly lines: { readonly length: number; maxLength: number; get(y: number): Line | undefined }
}

export interface ColourChange {
  /** 0: query, 1: set, 2: reset. */
  type: 0 | 1 | 2
  index?: number
  color?: [number, number, number]
}

export interface Core {
  readonly buffers: { readonly active: ScreenBuffer; readonly normal: ScreenBuffer; readonly alt: ScreenBuffer }
  readonly coreService: {
    readonly isCursorHidden: boolean
    readonly modes: { readonly insertMode: boolean }
    readonly decPrivateModes: {
      readonly applicationCursorKeys: boolean
      readonly applicationKeypad: boolean
      readonly bracketedPasteMode: boolean
      readonly cursorBlink: boolean | undefined
      readonly cursorStyle: 'block' | 'underline' | 'bar' | undefined
      readonly origin: boolean
      readonly reverseWraparound: boolean
      readonly sendFocus: boolean
      readonly synchronizedOutput: boolean
      readonly wraparound: boolean
    }
  }
  readonly coreMouseService: { readonly activeProtocol: string; readonly activeEncoding: string }
  readonly optionsService: { readonly rawOptions: { readonly convertEol: boolean; readonly cursorBlink: boolean } }
  readonly _charsetService: {
    readonly charset: Charset | undefined
    readonly glevel: number
    readonly _charsets: readonly (Charset | undefined)[]
  }
  readonly _oscLinkService: { getLinkData(id: number): { id?: string; uri: string } | undefined }
  readonly _inputHandler: {
    /** Parses immediately. The public `write` waits for a timer. */
    parse(bytes: Uint8Array): void
    eraseInDisplay(params: unknown): void
    eraseInLine(params: unknown): void
    onColor(listener: (changes: ColourChange[]) => void): void
    readonly _curAttrData: Attributes
    readonly _windowTitle: string
    readonly _iconName: string
    readonly _parser: { readonly currentState: number; readonly precedingJoinState: number }
    readonly _utf8Decoder: { readonly interim: Uint8Array }
  }
}

/** A cell to load others into. The core erases with its own, so that one can't be used. */
export const newCell = (terminal: InstanceType<typeof headless.Terminal>): Cell =>
  terminal.buffer.active.getNullCell() as unknown as Cell

export const coreOf = (terminal: InstanceType<typeof headless.Terminal>): Core =>
  (terminal as typeof terminal & { readonly _core: Core })._core

/** The parser's state between sequences. */
export const GROUND = 0
/** Up to this state, the parser executes control characters inside a sequence. */
export const LAST_STATE_THAT_EXECUTES = 6

/**
 * xterm.js 6.0.0 throws when it erases the screen up to a cursor in the last cell (ED 1), because it looks for a line
 * below. There, the last cell is erased separately.
 */
export function guardErase(terminal: InstanceType<typeof headless.Terminal>): void {
  const { buffers, _inputHandler } = coreOf(terminal)
  terminal.parser.registerCsiHandler({ final: 'J' }, (params) => {
    const { active } = buffers
    const { x } = active
    if (params[0] !== 1 || x + 1 < terminal.cols || active.lines.get(active.ybase + active.y + 1)) return false
    const asked = { length: 1, params: [1] }
    active.x = terminal.cols - 2
    _inputHandler.eraseInDisplay(asked)
    active.x = x
    _inputHandler.eraseInLine(asked)
    return true
  })
}

/**
 * xterm.js 6.0.0 doesn't resize a hidden alternate screen, which would then keep lines above it, nor a saved cursor below
 * the last row.
 */
export function resize(terminal: InstanceType<typeof headless.Terminal>, cols: number, rows: number): void {
  terminal.resize(cols, rows)
  const { active, alt, normal } = coreOf(terminal).buffers
  if (active !== alt) alt.lines.maxLength = rows
  for (const buffer of [normal, alt]) buffer.savedY = Math.min(buffer.savedY, buffer.ybase + rows - 1)
}
