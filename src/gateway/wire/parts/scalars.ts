const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const words: ReadonlyMap<string, string> = new Map([
  ['true', 'true'],
  ['false', 'false'],
  ...['null', 'none', 'nil', 'undefined', 'nan', 'infinity'].map((word) => [word, 'null'] as const),
])
const MAX_DIGITS = 64

/** Literals of Python and JavaScript, and other number formats. Null: the word is text. */
export function scalarOf(word: string): string | null {
  if (NUMBER.test(word)) return word
  const literal = words.get(word.replace(/^[+-](?=[in])/i, '').toLowerCase())
  if (literal !== undefined) return literal
  const [, sign, rest] = /^([+-]?)(.*)$/s.exec(word)!
  const minus = sign === '-' ? '-' : ''
  if (/^0[xXoObB][\da-fA-F]+$/.test(rest!))
    return rest!.length <= MAX_DIGITS && Number.isFinite(Number(rest)) ? minus + BigInt(rest!).toString() : null
  const [, whole = '', fraction = '', exponent = ''] = /^(\d*)(?:\.(\d*))?([eE][+-]?\d+)?$/.exec(rest!) ?? []
  if (whole === '' && fraction === '') return null
  const integer = whole.replace(/^0+(?=\d)/, '') || '0'
  return `${minus}${integer}${fraction === '' ? '' : `.${fraction}`}${exponent}`
}

const VALID_ESCAPES: ReadonlySet<string> = new Set('"\\/bfnrt')

export const escapeCharacter = (character: string): string =>
  character < ' ' || character === '"' ? JSON.stringify(character).slice(1, -1) : character

export function escapeOf(character: string): string {
  if (character === "'") return "'"
  return VALID_ESCAPES.has(character) ? `\\${character}` : `\\\\${escapeCharacter(character)}`
}
