import { escapeCharacter, escapeOf, scalarOf } from './scalars.ts'

export interface Frame {
  kind: '{' | '['
  filled: boolean
}

/** Before a value, after one, or inside a string value. */
export type Place = 'value' | 'behind' | 'string'

const CLOSING: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '“': '”',
  '”': '”',
  '‘': '’',
  '’': '’',
}
const closerOf = { '{': '}', '[': ']' } as const

/**
 * Reads the rest of a JSON text as models and programs write it: other or missing quotes, other number formats,
 * comments, doubled and missing commas, unescaped quotes in strings, extra brackets. The result continues the earlier
 * text and closes it. Members without a value, and numbers and words that may be truncated, are left out.
 */
export class Repair {
  readonly #text: string
  readonly #stack: Frame[]
  #at = 0
  #out = ''
  #key: string | null = null
  #doubled = 0
  /** A string had no clear end: from then on the first quote closes a string. */
  #firstCloses = false
  clear = true

  constructor(text: string, stack: readonly Frame[]) {
    this.#text = text
    this.#stack = stack.map((frame) => ({ ...frame }))
  }

  read(place: Place): string {
    let next = place
    if (next === 'string') {
      this.#out += `${this.#string('"', '')}"`
      next = 'behind'
    }
    while (this.#at < this.#text.length && (this.#stack.length > 0 || next === 'value')) {
      this.#skip()
      if (this.#at >= this.#text.length) break
      if (next === 'behind') next = this.#behind()
      else if (this.#stack.at(-1)?.kind === '{' && this.#key === null) next = this.#member()
      else next = this.#value()
    }
    if (this.#stack.length > 0) this.clear = false
    while (this.#stack.length > 0) this.#close()
    return this.#out
  }

  #skip(): void {
    for (;;) {
      this.#at = this.#end(/\s*/y)
      if (this.#text.startsWith('//', this.#at)) this.#at = this.#end(/.*/y)
      else if (this.#text.startsWith('/*', this.#at)) {
        const end = this.#text.indexOf('*/', this.#at + 2)
        this.#at = end < 0 ? this.#text.length : end + 2
      } else return
    }
  }

  #end(pattern: RegExp): number {
    pattern.lastIndex = this.#at
    return this.#at + (pattern.exec(this.#text)?.[0].length ?? 0)
  }

  #closes(character: string): boolean {
    if (character !== '}' && character !== ']') return false
    this.#at++
    const kind = character === '}' ? '{' : '['
    if (kind === '{' && this.#doubled > 0) {
      this.#doubled--
      return true
    }
    if (!this.#stack.some((frame) => frame.kind === kind)) return true
    while (this.#stack.at(-1)!.kind !== kind) {
      this.clear = false
      this.#close()
    }
    this.#close()
    return true
  }

  #close(): void {
    this.#key = null
    this.#out += closerOf[this.#stack.pop()!.kind]
  }

  #behind(): Place {
    const character = this.#text[this.#at]!
    if (this.#closes(character)) return 'behind'
    if (character === ',') {
      this.#at++
      return 'value'
    }
    if (/["'`“”‘’\w{[+.-]/.test(character)) return 'value'
    this.clear = false
    this.#at++
    return 'behind'
  }

  #member(): Place {
    const character = this.#text[this.#at]!
    if (this.#closes(character)) return 'behind'
    if (character === ',' || character === '{') {
      if (character === '{') this.#doubled++
      this.#at++
      return 'value'
    }
    const quote = CLOSING[character]
    if (quote !== undefined) {
      this.#at++
      this.#key = `"${this.#string(quote, ':')}"`
    } else {
      const end = this.#end(/[^\s:,{}[\]"'“”]+/y)
      if (end > this.#at) this.#key = JSON.stringify(this.#text.slice(this.#at, end).toWellFormed())
      else this.clear = false
      this.#at = Math.max(end, this.#at + 1)
      if (this.#key === null) return 'value'
    }
    this.#skip()
    if (this.#text[this.#at] === ':') this.#at++
    else this.clear = false
    return 'value'
  }

  #value(): Place {
    const character = this.#text[this.#at]!
    const inList = this.#stack.at(-1)?.kind === '['
    if (character === '{' || character === '[') {
      this.#at++
      this.#begin()
      this.#out += character
      this.#stack.push({ kind: character, filled: false })
      return 'value'
    }
    if (character === '}' || character === ']' || character === ',') {
      if (character === ',') this.#at++
      if (!inList) {
        this.clear = false
        this.#begin()
        this.#out += 'null'
      }
      if (character === ',') return 'value'
      this.#closes(character)
      return 'behind'
    }
    if (CLOSING[character] !== undefined) {
      this.#at++
      this.#begin()
      this.#out += `"${this.#string(CLOSING[character], '')}"`
      return 'behind'
    }
    return this.#bare()
  }

  #bare(): Place {
    const end = this.#end(/(?:[^,}\]\n"/]|(?<=:)\/\/|\/(?![/*]))+/y)
    const word = this.#text.slice(this.#at, end).trim()
    const isCut = end === this.#text.length
    this.#at = Math.max(end, this.#at + 1)
    if (word === '' || isCut) {
      this.clear = false
      return 'value'
    }
    const scalar = scalarOf(word)
    this.clear &&= scalar !== null || !/\s/.test(word)
    this.#begin()
    this.#out += scalar ?? JSON.stringify(word.toWellFormed())
    return 'behind'
  }

  #begin(): void {
    const frame = this.#stack.at(-1)
    if (frame !== undefined) {
      if (frame.filled) this.#out += ','
      frame.filled = true
    }
    if (this.#key !== null) this.#out += `${this.#key}:`
    this.#key = null
  }

  /** `follower` is the character that must follow a key. */
  #string(quote: string, follower: '' | ':'): string {
    let out = ''
    let firstEnd: { at: number; out: string } | null = null
    while (this.#at < this.#text.length) {
      // oxlint-disable-next-line no-control-regex -- JSON allows no control characters in a string.
      const plain = this.#end(/[^\\"'`“”‘’\u0000-\u001f]+/y)
      if (plain > this.#at) {
        out += this.#text.slice(this.#at, plain)
        this.#at = plain
        continue
      }
      const character = this.#text[this.#at++]!
      if (character === '\\') out += this.#escape()
      else if (character === quote || (quote === '”' && '"“'.includes(character))) {
        if (this.#firstCloses || this.#mayEnd(follower)) return out
        firstEnd ??= { at: this.#at, out }
        out += escapeCharacter(character)
      } else out += escapeCharacter(character)
    }
    if (firstEnd !== null) {
      this.#firstCloses = true
      this.#at = firstEnd.at
      this.clear = false
      return firstEnd.out
    }
    this.clear = false
    return out
  }

  /** Decides from the next character whether a quote ends its string: strings can contain unescaped quotes. */
  #mayEnd(follower: '' | ':'): boolean {
    const at = this.#end(/\s*/y)
    if (at >= this.#text.length) return true
    const next = this.#text[at]!
    if (follower === ':') return next === ':'
    if (',}]'.includes(next) || this.#text.startsWith('//', at) || this.#text.startsWith('/*', at)) return true
    return CLOSING[next] !== undefined && at > this.#at
  }

  #escape(): string {
    const character = this.#text[this.#at]
    if (character === undefined) return ''
    this.#at++
    if (character !== 'u') return escapeOf(character)
    const end = this.#end(/[\da-fA-F]{1,4}/y)
    const digits = this.#text.slice(this.#at, end)
    if (digits.length < 4 && end === this.#text.length) {
      this.#at = end
      return ''
    }
    this.#at = end
    return digits.length === 4 ? `\\u${digits}` : `\\\\u${digits}`
  }
}
