/**
 * Globs as ripgrep takes them (gitignore's, and braces): `*` and `?` stay within a name, `**` crosses folders, `[a-z]`,
 * `[!a-z]`, `{a,b}`, `\` before a character takes it as it is. Without a slash a glob names files at any depth, with one
 * it is held against the whole path. Run as a set of states, so that no glob takes longer than its length times the path's.
 */
type Token =
  | { on: 'char'; char: string }
  | { on: 'any' }
  | { on: 'set'; not: boolean; ranges: [number, number][] }
  | { on: 'star' }
  | { on: 'stars' }
  | { on: 'split'; to: number[] }
  | { on: 'go'; to: number }

export interface Glob {
  matches(path: string): boolean
  /** A condition that every path that matches fulfils, for SQL's `like`; `%` alone asks for nothing. */
  like: string
}

/** The glob is not valid; the sentence says why. */
export class InvalidGlob extends Error {
  override name = 'InvalidGlob'
}

export const MOST_GLOB = 1_000

export function compileGlob(glob: string, { fold = false }: { fold?: boolean } = {}): Glob {
  if (glob.length > MOST_GLOB) throw new InvalidGlob(`A glob may hold ${MOST_GLOB} characters at most.`)
  const anchored = glob.replace(/\/$/, '').includes('/')
  const words = glob.replace(/^\//, '').replace(/\/$/, '/**')
  const tokens = new Reader(fold ? words.toLowerCase() : words).read()
  const like = `${anchored ? '' : '%'}${likeOf(words)}`.replace(/(?<!\\)%+/g, '%')
  return {
    matches(path) {
      const text = fold ? path.toLowerCase() : path
      if (anchored) return run(tokens, text)
      return run(tokens, text.slice(text.lastIndexOf('/') + 1))
    },
    like,
  }
}

/** Several globs, ripgrep's way: the last that matches decides, `!` in front takes out; only exclusions begin with everything. */
export function compileGlobs(globs: readonly string[], options: { fold?: boolean } = {}): Glob {
  const all = globs.map((glob) => ({ not: glob.startsWith('!'), glob: compileGlob(glob.replace(/^!/, ''), options) }))
  const start = all.every(({ not }) => not)
  const [only] = all
  /** The verdict of the last glob that names the path; null when none does. */
  const said = (path: string): boolean | null => {
    const last = all.findLast(({ glob }) => glob.matches(path))
    return last === undefined ? null : !last.not
  }
  const excludes = all.some(({ not }) => not)
  return {
    matches(path) {
      // A file in a folder that is taken out is out.
      if (excludes)
        for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1))
          if (said(path.slice(0, at)) === false) return false
      return said(path) ?? start
    },
    like: all.length === 1 && !only!.not ? only!.glob.like : '%',
  }
}

class Reader {
  readonly #chars: string[]
  #at = 0
  readonly #tokens: Token[] = []

  constructor(glob: string) {
    this.#chars = Array.from(glob)
  }

  read(): Token[] {
    this.#sequence(0)
    if (this.#at < this.#chars.length) throw new InvalidGlob('A `}` closes what was not opened.')
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
        if (next === undefined) throw new InvalidGlob('A `\\` at the end stands before nothing.')
        this.#tokens.push({ on: 'char', char: next })
      } else this.#tokens.push({ on: 'char', char })
    }
  }

  #stars(): void {
    const from = this.#at - 1
    while (this.#chars[this.#at] === '*') this.#at++
    const before = this.#chars[from - 1]
    const after = this.#chars[this.#at]
    const whole = this.#at - from === 2 && (from === 0 || before === '/') && (after === undefined || after === '/')
    if (!whole) return void this.#tokens.push({ on: 'star' })
    if (after === undefined) {
      // `a/**` is what lies in `a`, not `a` itself.
      this.#tokens.push({ on: 'stars' })
      return
    }
    // `**/` is nothing, or any number of folders.
    this.#at++
    const start = this.#tokens.length
    this.#tokens.push({ on: 'split', to: [start + 1, start + 3] }, { on: 'stars' }, { on: 'char', char: '/' })
  }

  #set(): void {
    const not = this.#chars[this.#at] === '!' || this.#chars[this.#at] === '^'
    if (not) this.#at++
    const ranges: [number, number][] = []
    for (let first = true; first || this.#chars[this.#at] !== ']'; first = false) {
      const low = this.#member()
      const ranged =
        this.#chars[this.#at] === '-' && this.#chars[this.#at + 1] !== ']' && this.#chars[this.#at + 1] !== undefined
      if (ranged) this.#at++
      const high = ranged ? this.#member() : low
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
    if (depth >= 10) throw new InvalidGlob('Braces may be nested ten deep.')
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

function run(tokens: readonly Token[], path: string): boolean {
  const size = tokens.length + 1
  let here = new Uint8Array(size)
  let next = new Uint8Array(size)
  const open = (set: Uint8Array, at: number): void => {
    if (set[at] === 1) return
    set[at] = 1
    const token = tokens[at]
    if (token === undefined) return
    if (token.on === 'split') for (const to of token.to) open(set, to)
    else if (token.on === 'go') open(set, token.to)
    else if (token.on === 'star' || token.on === 'stars') open(set, at + 1)
  }
  open(here, 0)
  for (const char of path) {
    const slash = char === '/'
    let alive = false
    for (let at = 0; at < tokens.length; at++) {
      if (here[at] === 0) continue
      const token = tokens[at]!
      if (token.on === 'stars' || (token.on === 'star' && !slash)) open(next, at)
      else if (holds(token, char, slash)) open(next, at + 1)
      else continue
      alive = true
    }
    if (!alive) return false
    ;[here, next] = [next, here]
    next.fill(0)
  }
  return here[tokens.length] === 1
}

function holds(token: Token, char: string, slash: boolean): boolean {
  if (token.on === 'char') return token.char === char
  if (token.on === 'any') return !slash
  if (token.on !== 'set' || slash) return false
  const code = char.codePointAt(0)!
  return token.ranges.some(([low, high]) => code >= low && code <= high) !== token.not
}

/** The pattern of `like` for a glob: less exact, never narrower. */
function likeOf(glob: string): string {
  let like = ''
  let depth = 0
  const chars = Array.from(glob)
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i]!
    if (char === '\\') i++
    if (char === '{') depth++
    else if (char === '}') depth--
    if (char === '[') {
      i++
      if (chars[i] === '!' || chars[i] === '^') i++
      for (i++; i < chars.length && chars[i] !== ']'; i++) if (chars[i] === '\\') i++
      if (depth === 0) like += '_'
      continue
    }
    if (char === '}') like += '%'
    else if (depth > 0) continue
    else if (char === '*') {
      like += '%'
      // `**/` may be nothing, its slash included.
      if (chars[i + 1] === '*' && chars[i + 2] === '/') i += 2
    } else if (char === '?') like += '_'
    else like += (char === '\\' ? (chars[i] ?? '') : char).replace(/[\\%_]/, String.raw`\$&`)
  }
  return like
}
