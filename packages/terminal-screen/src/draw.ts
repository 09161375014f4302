/** Draws the lines of a buffer into a reset terminal. Cells that were never written stay unwritten. */
import { attributesKey, isErased, linkOf, sgr } from './attributes.ts'
import type { Attributes, Cell, Core, Line, ScreenBuffer } from './internals.ts'

const to = (y: number, x: number): string => `\x1b[${y + 1};${x + 1}H`
/** Takes two cells. */
const WIDE = '\u4e00'

/** Writes text with attributes, and their sequences only where they change. */
export class Pen {
  #out: string[] = []
  #attributes = PLAIN
  #link = 0
  readonly #core: Core
  constructor(core: Core) {
    this.#core = core
  }

  write(text: string): this {
    this.#out.push(text)
    return this
  }

  set(attributes: Attributes): this {
    const key = attributesKey(attributes)
    if (key === this.#attributes) return this
    this.#attributes = key
    this.#out.push(sgr(attributes))
    const link = linkOf(attributes)
    if (link !== this.#link) {
      this.#link = link
      const data = link === 0 ? undefined : this.#core._oscLinkService.getLinkData(link)
      this.#out.push(`\x1b]8;${data?.id === undefined ? '' : `id=${data.id}`};${data?.uri ?? ''}\x1b\\`)
    }
    return this
  }

  plain(): this {
    return this.set(NOTHING)
  }

  text(): string {
    return this.#out.join('')
  }
}

const NOTHING: Attributes = { fg: 0, bg: 0, extended: { _ext: 0, underlineColor: 0, urlId: 0 } }
const PLAIN = attributesKey(NOTHING)

/** Leaves the cursor anywhere and the attributes plain. */
export function drawLines(pen: Pen, buffer: ScreenBuffer, cell: Cell, cols: number, rows: number): void {
  let y = 0
  // The first line continues one that no longer exists, so a replacement is drawn and scrolled away.
  if (buffer.lines.get(0)?.isWrapped && rows > 1) pen.write(`${to(0, cols - 1)}xx\x1b[S${to(0, 0)}\x1b[X`)
  for (let at = 0; at < buffer.lines.length; at++) {
    if (at > 0) y = nextRow(pen, buffer, at, y, cell, cols, rows)
    drawRow(pen, buffer, at, y, cell, 0, cols)
  }
  pen.plain()
}

/**
 * Moves to the row of line `at`. Only printing over the edge makes a line continue the one above, and the cells that
 * this overwrites are drawn again.
 */
function nextRow(
  pen: Pen,
  buffer: ScreenBuffer,
  at: number,
  y: number,
  cell: Cell,
  cols: number,
  rows: number,
): number {
  pen.plain()
  const next = Math.min(y + 1, rows - 1)
  if (!buffer.lines.get(at)?.isWrapped || rows === 1) {
    pen.write('\r\n')
    return next
  }
  pen.write(`${to(y, cols - 1)}xx`)
  const above = next - 1
  const spoiled = spoiledFrom(buffer.lines.get(at - 1), cell, cols)
  pen.write(`${to(above, cols - 1)}\x1b[X${to(above, spoiled)}`)
  drawRow(pen, buffer, at - 1, above, cell, spoiled, cols)
  pen.plain().write(`${to(next, 0)}\x1b[X`)
  return next
}

/** The first cell to draw again so that the last one of its line is right. */
function spoiledFrom(line: Line | undefined, cell: Cell, cols: number): number {
  if (!line) return 0
  let x = cols - 1
  while (x > 0 && (line.loadCell(x, cell).getWidth() === 0 || isOdd(cell))) x--
  return x
}

/** A blank with more attributes than a background. */
const isOdd = (cell: Cell): boolean => cell.getChars() === '' && cell.getWidth() === 1 && !isErased(cell)

function drawRow(pen: Pen, buffer: ScreenBuffer, at: number, y: number, cell: Cell, start: number, cols: number): void {
  const line = buffer.lines.get(at)
  if (!line) return
  const odd = drawOddBlanks(pen, line, y, cell, start, cols)
  let x = odd ? -1 : start
  for (let column = start; column < cols; column++) {
    line.loadCell(column, cell)
    const chars = cell.getChars()
    if (chars === '' && cell.getWidth() === 0) continue
    if (chars === '' && !odd && cell.bg === 0) continue
    if (chars === '' && !isErased(cell)) continue
    if (x !== column) pen.write(x < 0 || column < x ? to(y, column) : `\x1b[${column - x}C`)
    pen.set(cell)
    if (chars === '') {
      let end = column + 1
      const { bg } = cell
      while (end < cols && isErasedWith(line.loadCell(end, cell), bg)) end++
      pen.write(`\x1b[${end - column}X`)
      x = column
      column = end - 1
    } else {
      pen.write(chars)
      x = column + cell.getWidth()
    }
    // At the edge, a move forward would count from the last cell.
    if (x >= cols) x = -1
  }
}

const isErasedWith = (cell: Cell, bg: number): boolean =>
  cell.getChars() === '' && cell.getWidth() === 1 && isErased(cell) && cell.bg === bg

/**
 * Odd blanks are halves of overwritten wide characters, and can only be made that way, from right to left. This
 * overwrites the cells beside them, which are drawn afterwards.
 */
function drawOddBlanks(pen: Pen, line: Line, y: number, cell: Cell, start: number, cols: number): boolean {
  let any = false
  for (let x = cols - 1; x >= start; x--) {
    line.loadCell(x, cell)
    if (!isOdd(cell)) continue
    any = true
    if (x === 0)
      pen
        .write(`${to(y, 0)}${WIDE}${to(y, 1)}`)
        .set(cell)
        .write('x')
    else
      pen
        .write(`${to(y, x - 1)}${WIDE}${to(y, x - 1)}`)
        .set(cell)
        .write('x')
  }
  return any
}
