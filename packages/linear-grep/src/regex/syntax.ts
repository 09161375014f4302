/**
 * Parses RE2 syntax (https://github.com/google/re2/wiki/Syntax) as far as search needs: for required words and the byte
 * automaton. Other patterns are left to re2js.
 */
export type Node =
  | { kind: 'char'; code: number }
  | { kind: 'set'; set: CharSet }
  | { kind: 'cat'; of: Node[] }
  | { kind: 'alt'; of: Node[] }
  | { kind: 'repeat'; of: Node; min: number; max: number; lazy: boolean }
  | { kind: 'at'; where: 'line start' | 'line end' | 'word edge' | 'no word edge' }

export interface CharSet {
  ascii: boolean[]
  not: boolean
  /** The class's characters beyond ASCII: none, all, or a set only re2js knows. */
  beyond: 'none' | 'all' | 'some'
  /** The class for re2js: `inLine` without line breaks, because lines are searched individually; `across` with them. */
  inLine: string
  across: string
}

const LF = 10
/** Unicode word characters, digits, and spaces (UTS #18, annex C); RE2 only knows the ASCII ones. */
const WORD = String.raw`\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}`
const DIGIT = String.raw`\p{Nd}`
const SPACE = String.raw`\t\v\f\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`

const isWord = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)
const isDigit = (code: number): boolean => code >= 48 && code <= 57
const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)
const asciiOf = (holds: (code: number) => boolean): boolean[] => Array.from({ length: 128 }, (_, code) => holds(code))

const classes: Record<string, { holds: (code: number) => boolean; source: string }> = {
  w: { holds: isWord, source: WORD },
  d: { holds: isDigit, source: DIGIT },
  s: { holds: isSpace, source: SPACE },
}

const escapes: Record<string, number> = { a: 7, t: 9, n: 10, v: 11, f: 12, r: 13 }

/** Null if unsupported here. Expects a pattern valid for re2js. */
export function parsePattern(pattern: string): Node | null {
  // Inline flags, comments, named classes, and quotes are left to re2js. `(?P<name>` and `(?:` are plain groups.
  if (/\(\?(?!:|P?<[A-Za-z])|\[\[[:.=]|\\[QpPCzAGE0-9]/.test(pattern)) return null
  const parser = new Parser(pattern)
  const node = parser.alternatives()
  return parser.done && !parser.failed ? node : null
}

class Parser {
  readonly #codes: number[]
  #at = 0
  failed = false

  constructor(pattern: string) {
    this.#codes = Array.from(pattern, (char) => char.codePointAt(0)!)
  }

  get done(): boolean {
    return this.#at >= this.#codes.length
  }

  #peek(): string {
    return this.done ? '' : String.fromCodePoint(this.#codes[this.#at]!)
  }
  #take(): string {
    const char = this.#peek()
    this.#at++
    return char
  }
  #skip(words: string): boolean {
    if (!words.split('').every((char, i) => this.#codes[this.#at + i] === char.charCodeAt(0))) return false
    this.#at += words.length
    return true
  }

  alternatives(): Node {
    const of = [this.#sequence()]
    while (this.#skip('|')) of.push(this.#sequence())
    return of.length === 1 ? of[0]! : { kind: 'alt', of }
  }

  #sequence(): Node {
    const of: Node[] = []
    while (!this.done && this.#peek() !== '|' && this.#peek() !== ')' && !this.failed) of.push(this.#readRepetition())
    return of.length === 1 ? of[0]! : { kind: 'cat', of }
  }

  #readRepetition(): Node {
    let node = this.#atom()
    for (;;) {
      const counts = this.#counts()
      if (counts === null) return node
      node = { kind: 'repeat', of: node, ...counts, lazy: this.#skip('?') }
    }
  }

  #counts(): { min: number; max: number } | null {
    if (this.#skip('*')) return { min: 0, max: Infinity }
    if (this.#skip('+')) return { min: 1, max: Infinity }
    if (this.#skip('?')) return { min: 0, max: 1 }
    const rest = String.fromCodePoint(...this.#codes.slice(this.#at, this.#at + 16))
    const [all, min, comma, max] = /^\{(\d{1,4})(,?)(\d{0,4})\}/.exec(rest) ?? []
    if (all === undefined) return null
    this.#at += all.length
    return { min: Number(min), max: comma === '' ? Number(min) : max === '' ? Infinity : Number(max) }
  }

  #atom(): Node {
    const char = this.#take()
    if (char === '(') return this.#group()
    if (char === '[') return this.#set()
    if (char === '.')
      return {
        kind: 'set',
        set: {
          ascii: asciiOf((code) => code === LF),
          not: true,
          beyond: 'all',
          inLine: String.raw`[^\n]`,
          across: String.raw`[^\n]`,
        },
      }
    if (char === '^') return { kind: 'at', where: 'line start' }
    if (char === '$') return { kind: 'at', where: 'line end' }
    if (char === '\\') return this.#escaped()
    return { kind: 'char', code: char.codePointAt(0)! }
  }

  #group(): Node {
    if (this.#skip('?:')) {
      // nothing to keep
    } else if (this.#skip('?P<') || this.#skip('?<')) {
      while (!this.done && this.#take() !== '>');
    }
    const node = this.alternatives()
    if (!this.#skip(')')) this.failed = true
    return node
  }

  #escaped(): Node {
    const char = this.#peek()
    if (char === 'b' || char === 'B') {
      this.#at++
      return { kind: 'at', where: char === 'b' ? 'word edge' : 'no word edge' }
    }
    const classSet = classes[char.toLowerCase()]
    if (classSet && char !== '') {
      this.#at++
      const neg = char !== char.toLowerCase()
      return {
        kind: 'set',
        set: {
          ascii: asciiOf(classSet.holds),
          not: neg,
          beyond: 'some',
          inLine: neg ? `[^${classSet.source}\\n]` : `[${classSet.source}]`,
          across: neg ? `[^${classSet.source}]` : `[${classSet.source}${char === 's' ? '\\n' : ''}]`,
        },
      }
    }
    return { kind: 'char', code: this.#code() }
  }

  #code(): number {
    const char = this.#take()
    if (char === 'x') {
      const rest = String.fromCodePoint(...this.#codes.slice(this.#at, this.#at + 10))
      const [all, bracedHex, two] = /^(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/.exec(rest) ?? []
      if (all === undefined) return this.#fail()
      this.#at += all.length
      return Number.parseInt(bracedHex ?? two!, 16)
    }
    if (char in escapes) return escapes[char]!
    return /^[^A-Za-z0-9]$/u.test(char) ? char.codePointAt(0)! : this.#fail()
  }

  #fail(): number {
    this.failed = true
    return 0
  }

  #set(): Node {
    const not = this.#skip('^')
    const ascii = asciiOf(() => false)
    let some = false
    let spaces = false
    let source = ''
    for (let first = true; first || this.#peek() !== ']'; first = false) {
      if (this.done || this.failed) return { kind: 'char', code: this.#fail() }
      const from = this.#take()
      const classSet = from === '\\' ? classes[this.#peek().toLowerCase()] : undefined
      if (classSet) {
        const neg = this.#peek() !== this.#take().toLowerCase()
        // re2js can't express a Unicode complement within a set, so its ASCII meaning is used.
        source += neg ? `\\${String.fromCodePoint(this.#codes[this.#at - 1]!)}` : classSet.source
        for (let code = 0; code < 128; code++) if (classSet.holds(code) !== neg) ascii[code] = true
        some = true
        spaces ||= classSet === classes.s && !neg
        continue
      }
      const low = from === '\\' ? this.#code() : from.codePointAt(0)!
      let high = low
      if (this.#peek() === '-' && this.#codes[this.#at + 1] !== 93 && this.#at + 1 < this.#codes.length) {
        this.#at++
        const to = this.#take()
        if (to === '\\' && this.#peek().toLowerCase() in classes) return { kind: 'char', code: this.#fail() }
        high = to === '\\' ? this.#code() : to.codePointAt(0)!
      }
      for (let code = low; code <= Math.min(high, 127); code++) ascii[code] = true
      if (high > 127) some = true
      source += `${hex(low)}-${hex(high)}`
    }
    this.#at++
    return {
      kind: 'set',
      set: {
        ascii,
        not,
        beyond: some ? 'some' : not ? 'all' : 'none',
        inLine: not ? `[^${source}\\n]` : holdsBreak(ascii) ? `[${withoutBreak(source)}]` : `[${source}]`,
        across: `[${not ? '^' : ''}${source}${spaces ? '\\n' : ''}]`,
      },
    }
  }
}

const hex = (code: number): string => `\\x{${code.toString(16)}}`
const holdsBreak = (ascii: boolean[]): boolean => ascii[LF]!

/** Ranges have the form `\x{a}-\x{b}`; one that contains the line break is split. */
const withoutBreak = (source: string): string =>
  source.replace(/\\x\{([0-9a-f]+)\}-\\x\{([0-9a-f]+)\}/g, (range, from: string, to: string) => {
    const [low, high] = [Number.parseInt(from, 16), Number.parseInt(to, 16)]
    if (low > LF || high < LF) return range
    return `${low < LF ? `${hex(low)}-${hex(9)}` : ''}${high > LF ? `${hex(11)}-${hex(high)}` : ''}`
  }) || hex(0x10ffff)

export function print(node: Node, how: 'inLine' | 'across'): string {
  switch (node.kind) {
    case 'char':
      return hex(node.code)
    case 'set':
      return node.set[how]
    case 'cat':
      return node.of.map((one) => (one.kind === 'alt' ? `(?:${print(one, how)})` : print(one, how))).join('')
    case 'alt':
      return node.of.map((one) => print(one, how)).join('|')
    case 'repeat': {
      const { min, max, lazy } = node
      const count =
        max === Infinity
          ? min === 0
            ? '*'
            : min === 1
              ? '+'
              : `{${min},}`
          : min === 0 && max === 1
            ? '?'
            : `{${min},${max}}`
      return `(?:${print(node.of, how)})${count}${lazy ? '?' : ''}`
    }
    case 'at':
      return { 'line start': '^', 'line end': '$', 'word edge': '\\b', 'no word edge': '\\B' }[node.where]
  }
}

/** Whether the pattern can match a line break, which requires multiline search. */
export const namesBreak = (node: Node): boolean =>
  node.kind === 'char'
    ? node.code === LF
    : 'of' in node
      ? Array.isArray(node.of)
        ? node.of.some(namesBreak)
        : namesBreak(node.of)
      : false
