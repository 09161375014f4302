/** The glob is invalid or too complex. The message says why. */
export class InvalidGlob extends Error {
  override name = 'InvalidGlob'
}

export type Token =
  | { on: 'char'; code: number }
  | { on: 'any' }
  | { on: 'set'; not: boolean; ranges: [number, number][] }
  | { on: 'star' }
  | { on: 'stars' }
  | { on: 'split'; to: number[] }
  | { on: 'go'; to: number }

// Parses a glob. Equivalent repetitions are collapsed: `**/**/` is `**/`, `***` is `*`.
export const tokensOf = (glob: string): Token[] => new Reader(glob).read()

class Reader {
  readonly #chars: string[]
  #at = 0
  readonly #tokens: Token[] = []

  constructor(glob: string) {
    this.#chars = Array.from(glob)
  }

  read(): Token[] {
    this.#sequence(0)
    if (this.#at < this.#chars.length) throw new InvalidGlob('A `}` has no matching `{`.')
    return this.#tokens
  }

  #sequence(depth: number): void {
    while (this.#at < this.#chars.length) {
      const char = this.#chars[this.#at]!
      if (depth > 0 && (char === ',' || char === '}')) return
      if (char === '}') return
      this.#at++
      if (char === '*') this.#stars()
      else if (char === '?') this.#tokens.push({ on: 'any' })
      else if (char === '[') this.#set()
      else if (char === '{') this.#choice(depth)
      else if (char === '\\') {
        const next = this.#chars[this.#at++]
        if (next === undefined) throw new InvalidGlob('A `\\` at the end isn’t followed by a character.')
        this.#char(next)
      } else this.#char(char)
    }
  }

  #char(char: string): void {
    this.#tokens.push({ on: 'char', code: char.codePointAt(0)! })
  }

  #stars(): void {
    const from = this.#at - 1
    while (this.#chars[this.#at] === '*') this.#at++
    const before = this.#chars[from - 1]
    const after = this.#chars[this.#at]
    const whole = this.#at - from === 2 && (from === 0 || before === '/') && (after === undefined || after === '/')
    if (!whole) return void this.#tokens.push({ on: 'star' })
    if (after === undefined) {
      // `a/**` matches everything in `a`, but not `a`.
      this.#tokens.push({ on: 'stars' })
      return
    }
    // `**/` matches any number of folders, or none.
    this.#at++
    while (this.#isFoldersAgain()) this.#at += 3
    const start = this.#tokens.length
    this.#tokens.push({ on: 'split', to: [start + 1, start + 3] }, { on: 'stars' }, { on: 'char', code: SLASH })
  }

  #isFoldersAgain(): boolean {
    return this.#chars[this.#at] === '*' && this.#chars[this.#at + 1] === '*' && this.#chars[this.#at + 2] === '/'
  }

  #set(): void {
    const not = this.#chars[this.#at] === '!' || this.#chars[this.#at] === '^'
    if (not) this.#at++
    const ranges: [number, number][] = []
    for (let first = true; first || this.#chars[this.#at] !== ']'; first = false) {
      const low = this.#member()
      const isRange =
        this.#chars[this.#at] === '-' && this.#chars[this.#at + 1] !== ']' && this.#chars[this.#at + 1] !== undefined
      if (isRange) this.#at++
      const high = isRange ? this.#member() : low
      if (high < low) throw new InvalidGlob('A range in `[…]` runs backwards.')
      ranges.push([low, high])
    }
    this.#at++
    this.#tokens.push({ on: 'set', not, ranges })
  }

  #member(): number {
    let char = this.#chars[this.#at++]
    if (char === '\\') char = this.#chars[this.#at++]
    if (char === undefined) throw new InvalidGlob('A `[` is not closed.')
    return char.codePointAt(0)!
  }

  #choice(depth: number): void {
    if (depth >= 10) throw new InvalidGlob('Braces can be nested up to 10 levels deep.')
    const split: Token & { on: 'split' } = { on: 'split', to: [] }
    this.#tokens.push(split)
    const ends: (Token & { on: 'go' })[] = []
    for (;;) {
      split.to.push(this.#tokens.length)
      this.#sequence(depth + 1)
      const end: Token & { on: 'go' } = { on: 'go', to: 0 }
      this.#tokens.push(end)
      ends.push(end)
      const char = this.#chars[this.#at++]
      if (char === '}') break
      if (char !== ',') throw new InvalidGlob('A `{` is not closed.')
    }
    for (const end of ends) end.to = this.#tokens.length
  }
}

export const SLASH = 47
