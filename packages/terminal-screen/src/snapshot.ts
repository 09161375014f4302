/**
 * A screen as bytes. A reset terminal of the same size that reads them looks and behaves like one that read the whole
 * stream. `@xterm/addon-serialize` loses eight kinds of state (scroll region, saved cursor, tab stops, …), so the
 * terminal's internal state is read.
 */
import headless from '@xterm/headless'
import { attributesKey, underlineToCome } from './attributes.ts'
import { drawLines, Pen } from './draw.ts'
import { type Cell, type Core, coreOf, type ScreenBuffer } from './internals.ts'

const mode = (on: boolean, code: string, normally = false): string =>
  on === normally ? '' : `\x1b[${code}${on ? 'h' : 'l'}`

export function snapshot(
  core: Core,
  cell: Cell,
  cols: number,
  rows: number,
  palette: ReadonlyMap<number, string>,
): string {
  const { active, normal } = core.buffers
  const pen = new Pen(core)
  pen.write(titles(core) + colours(palette))
  drawLines(pen, normal, cell, cols, rows)
  if (active !== normal) {
    bufferState(pen, core, normal, cols, rows)
    // A resize meanwhile rewraps its lines around the cursor.
    pen.plain().write(`${to(normal.y, Math.min(normal.x, cols - 1))}\x1b[?1047h\x1b[H`)
    drawLines(pen, active, cell, cols, rows)
  }
  bufferState(pen, core, active, cols, rows)
  cursor(pen, core, cell, cols)
  return pen.text()
}

const to = (y: number, x: number): string => `\x1b[${y + 1};${x + 1}H`

/** Tab stops, saved cursor and scroll region, which each buffer has. */
function bufferState(pen: Pen, core: Core, buffer: ScreenBuffer, cols: number, rows: number): void {
  const stops = Array.from({ length: cols }, (_, x) => x).filter((x) => buffer.tabs[x])
  if (stops.join() !== usualStops(cols).join()) pen.write(`\x1b[3g${stops.map((x) => `${to(0, x)}\x1bH`).join('')}`)

  const y = Math.min(rows - 1, Math.max(0, buffer.savedY - buffer.ybase))
  const attributes = { ...buffer.savedCurAttrData, extended: core._inputHandler._curAttrData.extended }
  const final = finalOf(buffer.savedCharset)
  pen.write(to(y, Math.min(buffer.savedX, cols - 1))).set(attributes)
  pen.write(final === 'B' ? '\x1b7' : `\x1b(${final}\x1b7\x1b(B`).plain()

  if (buffer.scrollTop !== 0 || buffer.scrollBottom !== rows - 1)
    pen.write(`\x1b[${buffer.scrollTop + 1};${buffer.scrollBottom + 1}r`)
}

const usualStops = (cols: number): number[] => Array.from({ length: Math.ceil(cols / 8) }, (_, at) => at * 8)

/** Modes, character sets and cursor. The last printed character comes last, because the next one may combine with it. */
function cursor(pen: Pen, core: Core, cell: Cell, cols: number): void {
  const { active } = core.buffers
  const { insertMode } = core.coreService.modes
  const { origin } = core.coreService.decPrivateModes
  const attributes = core._inputHandler._curAttrData
  const { charset, glevel, _charsets } = core._charsetService
  const x = Math.min(active.x, cols)
  const line = active.lines.get(active.ybase + active.y)
  let at = Math.max(0, x - 1)
  if (line?.loadCell(at, cell).getWidth() === 0 && at > 0) line.loadCell(--at, cell)
  const width = cell.getWidth()
  // After a resize, the cursor may be inside a wide character.
  const last = at + width === x ? cell.getChars() : ''
  const joins =
    core._inputHandler._parser.precedingJoinState !== 0 &&
    last !== '' &&
    !insertMode &&
    attributesKey(cell) === attributesKey(attributes) &&
    charset?.[last] === undefined

  const place = (column: number): string => to(active.y - (origin ? active.scrollTop : 0), column)
  pen.write(mode(origin, '?6'))
  // DECRC also restores a character set that was replaced since.
  const restored = charset !== _charsets[glevel] && charset === active.savedCharset
  if (restored) pen.write(`${charsets(core)}\x1b8\x1b[m`)
  if (joins) pen.write(place(x - width))
  else if (x === cols && last !== '')
    pen
      .write(place(x - width))
      .set(cell)
      .write(last)
  else pen.write(place(Math.min(x, cols - 1)))
  if (!restored) pen.write(charsets(core))
  pen.set(attributes).write(underlineToCome(attributes) + modes(core))
  if (joins) pen.write(last)
}

function modes(core: Core): string {
  const { modes, decPrivateModes: set, isCursorHidden } = core.coreService
  const { rawOptions } = core.optionsService
  const { activeProtocol, activeEncoding } = core.coreMouseService
  const shape = { block: 2, underline: 4, bar: 6 }[set.cursorStyle ?? 'block'] - (set.cursorBlink ? 1 : 0)
  return [
    mode(set.applicationCursorKeys, '?1'),
    set.applicationKeypad ? '\x1b=' : '',
    mode(set.wraparound, '?7', true),
    mode(rawOptions.cursorBlink, '?12'),
    mode(!isCursorHidden, '?25', true),
    mode(set.reverseWraparound, '?45'),
    mode(activeProtocol !== 'NONE', { X10: '?9', VT200: '?1000', DRAG: '?1002', ANY: '?1003' }[activeProtocol] ?? ''),
    mode(activeEncoding !== 'DEFAULT', { SGR: '?1006', SGR_PIXELS: '?1016' }[activeEncoding] ?? ''),
    mode(set.sendFocus, '?1004'),
    mode(set.bracketedPasteMode, '?2004'),
    mode(rawOptions.convertEol, '20'),
    set.cursorStyle === undefined ? '' : `\x1b[${shape} q`,
    mode(modes.insertMode, '4'),
    mode(set.synchronizedOutput, '?2026'),
  ].join('')
}

const LEVELS = ['\x0f', '\x0e', '\x1bn', '\x1bo']

function charsets({ _charsetService: { glevel, _charsets } }: Core): string {
  const designated = ['(', ')', '*', '+'].map((g, at) => {
    const final = finalOf(_charsets[at])
    return final === 'B' ? '' : `\x1b${g}${final}`
  })
  return designated.join('') + (glevel === 0 ? '' : LEVELS[glevel])
}

const finals = new Map<object, string>()

/** The letter of a character set. All terminals share the same set objects. */
function finalOf(charset: object | undefined): string {
  if (charset === undefined) return 'B'
  if (finals.size === 0) {
    const core = coreOf(new headless.Terminal({ cols: 2, rows: 1, allowProposedApi: true }))
    for (const final of '0A4CRQKYEZH=') {
      core._inputHandler.parse(Buffer.from(`\x1b(${final}`))
      const found = core._charsetService._charsets[0]
      if (found) finals.set(found, final)
    }
  }
  return finals.get(charset) ?? 'B'
}

function titles({ _inputHandler: { _windowTitle, _iconName } }: Core): string {
  return (_iconName ? `\x1b]1;${_iconName}\x1b\\` : '') + (_windowTitle ? `\x1b]2;${_windowTitle}\x1b\\` : '')
}

/** 256 to 258: text, background and cursor. */
function colours(palette: ReadonlyMap<number, string>): string {
  return [...palette]
    .map(([index, colour]) => (index < 256 ? `\x1b]4;${index};${colour}\x1b\\` : `\x1b]${index - 246};${colour}\x1b\\`))
    .join('')
}
