const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const words: ReadonlyMap<string, string> = new Map([
  ['true', 'true'],
  ['false', 'false'],
  ...['null', 'none', 'nil', 'undefined', 'nan', 'infinity'].map((word) => [word, 'null'] as const),
])
/** Digits of a number in another base that are read. */
const MOST_DIGITS = 64

/** The JSON value of a bare word: words of Python and JavaScript, and numbers in other forms. Null: the word is text. */
export function scalarOf(word: string): string | null {
  if (NUMBER.test(word)) return word
  const known = words.get(word.replace(/^[+-](?=[in])/i, '').toLowerCase())
  if (known !== undefined) return known
  const [, sign, rest] = /^([+-]?)(.*)$/s.exec(word)!
  const minus = sign === '-' ? '-' : ''
  if (/^0[xXoObB][\da-fA-F]+$/.test(rest!))
    return rest!.length <= MOST_DIGITS && Number.isFinite(Number(rest)) ? minus + BigInt(rest!).toString() : null
  const [, whole = '', fraction = '', exponent = ''] = /^(\d*)(?:\.(\d*))?([eE][+-]?\d+)?$/.exec(rest!) ?? []
  if (whole === '' && fraction === '') return null
  const integer = whole.replace(/^0+(?=\d)/, '') || '0'
  return `${minus}${integer}${fraction === '' ? '' : `.${fraction}`}${exponent}`
}

const VALID_ESCAPES: ReadonlySet<string> = new Set('"\\/bfnrt')

/** A character of a string, escaped where JSON requires it. */
export const escaped = (character: string): string =>
  character < ' ' || character === '"' ? JSON.stringify(character).slice(1, -1) : character

/** A backslash and the character after it, as valid JSON. */
export function escapeOf(character: string): string {
  if (character === "'") return "'"
  return VALID_ESCAPES.has(character) ? `\\${character}` : `\\\\${escaped(character)}`
}
