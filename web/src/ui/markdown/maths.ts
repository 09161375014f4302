/** TeX math as models write it: `$…$` and `\(…\)` inline, `$$…$$` and `\[…\]` as blocks. */
export interface Maths {
  type: 'maths' | 'maths-inline'
  raw: string
  tex: string
  display: boolean
}

/** The length limit of formulas. It bounds the search for the closing delimiter; longer ones are text. */
const LONGEST_DISPLAY = 4_000
const LONGEST_INLINE = 1_000

const fences = [
  ['$$', '$$'],
  ['\\[', '\\]'],
] as const

/** The nesting limit of groups: browsers lay out each group inside its parent. */
const DEEPEST = 64

export function isTooDeep(tex: string): boolean {
  let depth = 0
  for (const [mark] of tex.matchAll(/\\[{}\\]|\\(?:left|begin|right|end|sqrt)(?![A-Za-z])|[{}]/g)) {
    if (mark === '{' || mark === '\\left' || mark === '\\begin' || mark === '\\sqrt') depth += 1
    else if (mark === '}' || mark === '\\right' || mark === '\\end') depth = Math.max(0, depth - 1)
    if (depth > DEEPEST) return true
  }
  return false
}

/** The formula at the start of a block. It can't contain an empty line. */
export function displayAt(src: string): Maths | undefined {
  for (const [open, close] of fences) {
    if (!src.startsWith(open)) continue
    const near = src.slice(0, LONGEST_DISPLAY)
    const end = near.indexOf(close, open.length)
    if (end === -1) return undefined
    const tex = near.slice(open.length, end)
    const behind = /^[ \t]*(?:\n|$)/.exec(src.slice(end + close.length, end + close.length + 100))
    if (tex.trim() === '' || behind === null || /\n[ \t]*\n/.test(tex)) return undefined
    return { type: 'maths', raw: src.slice(0, end + close.length + behind[0].length), tex: tex.trim(), display: true }
  }
  return undefined
}

export function displayBehind(src: string): number | undefined {
  for (let at = src.indexOf('\n'); at !== -1; at = src.indexOf('\n', at + 1))
    if (displayAt(src.slice(at + 1, at + 1 + LONGEST_DISPLAY)) !== undefined) return at + 1
  return undefined
}

/** The formula at the start of inline text. Prices (`$5 and $6`) aren't formulas. */
export function inlineAt(src: string): Maths | undefined {
  const near = src.slice(0, LONGEST_INLINE)
  const [open, close] = near.startsWith('$$')
    ? ['$$', '$$']
    : near.startsWith('\\[')
      ? ['\\[', '\\]']
      : near.startsWith('\\(')
        ? ['\\(', '\\)']
        : ['$', '$']
  if (!near.startsWith(open)) return undefined
  const end = near.indexOf(close, open.length)
  if (end === -1) return undefined
  const tex = near.slice(open.length, end)
  if (tex.trim() === '' || tex.includes('\n\n')) return undefined
  if (open === '$' && (/^\s|[\s\\]$/.test(tex) || /^[\dA-Za-z]/.test(near.slice(end + 1)))) return undefined
  return {
    type: 'maths-inline',
    raw: near.slice(0, end + close.length),
    tex: tex.trim(),
    display: open === '$$' || open === '\\[',
  }
}

export function inlineBehind(src: string): number | undefined {
  const at = src.search(/\$|\\[([]/)
  return at === -1 ? undefined : at
}
