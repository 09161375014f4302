/** Escape sequences for text attributes, which xterm.js stores in the bits of two words and an extension. */
import type { Attributes } from './internals.ts'

const FG = { inverse: 1 << 26, bold: 1 << 27, underline: 1 << 28, blink: 1 << 29, invisible: 1 << 30, strike: 1 << 31 }
const BG = { italic: 1 << 26, dim: 1 << 27, extended: 1 << 28, protected: 1 << 29, overline: 1 << 30 }
const COLOUR = 0x3ffffff
const MODE = 0x3000000
const PALETTE_16 = 0x1000000
const PALETTE_256 = 0x2000000

const flags: readonly (readonly [word: 'fg' | 'bg', bit: number, code: string])[] = [
  ['fg', FG.bold, '1'],
  ['bg', BG.dim, '2'],
  ['bg', BG.italic, '3'],
  ['fg', FG.blink, '5'],
  ['fg', FG.inverse, '7'],
  ['fg', FG.invisible, '8'],
  ['fg', FG.strike, '9'],
  ['bg', BG.overline, '53'],
]

/** Sets exactly these attributes, except the hyperlink. */
export function sgr({ fg, bg, extended }: Attributes): string {
  const codes = ['0']
  for (const [word, bit, code] of flags) if ((word === 'fg' ? fg : bg) & bit) codes.push(code)
  if (fg & FG.underline) codes.push(`4:${(bg & BG.extended && (extended._ext >> 26) & 7) || 1}`)
  codes.push(...colour(fg, 30), ...colour(bg, 40))
  if (bg & BG.extended && extended.underlineColor & MODE) codes.push(underlineColour(extended.underlineColor))
  return `\x1b[${codes.join(';')}m${bg & BG.protected ? '\x1b[1"q' : ''}`
}

function colour(word: number, base: 30 | 40): string[] {
  const value = word & 0xff
  if ((word & MODE) === 0) return []
  if ((word & MODE) === PALETTE_16) return [String(value < 8 ? base + value : base + 60 + value - 8)]
  if ((word & MODE) === PALETTE_256) return [`${base + 8};5;${value}`]
  return [`${base + 8};2;${(word >> 16) & 0xff};${(word >> 8) & 0xff};${value}`]
}

const underlineColour = (word: number): string =>
  (word & MODE) === MODE ? `58:2::${(word >> 16) & 0xff}:${(word >> 8) & 0xff}:${word & 0xff}` : `58:5:${word & 0xff}`

/** Sets the color of a future underline. */
export const underlineToCome = ({ bg, extended }: Attributes): string =>
  bg & BG.extended || !(extended.underlineColor & MODE) ? '' : `\x1b[${underlineColour(extended.underlineColor)}m`

/** 0: none. */
export const linkOf = ({ bg, extended }: Attributes): number => (bg & BG.extended ? extended.urlId : 0)

/** Whether an erased cell can have these attributes: only a background. */
export const isErased = ({ fg, bg }: Attributes): boolean => fg === 0 && (bg & ~COLOUR) === 0

export const attributesKey = ({ fg, bg, extended }: Attributes): string =>
  bg & BG.extended ? `${fg},${bg},${extended._ext},${extended.urlId}` : `${fg},${bg}`
