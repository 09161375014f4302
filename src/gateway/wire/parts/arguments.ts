import { isObject, parseJson } from '../../model/json.ts'
import { meaningOf } from './meaning.ts'
import { type Frame, type Place, Repair } from './repair.ts'
import { escapeCharacter, escapeOf, scalarOf } from './scalars.ts'

/**
 * What the reader expects next. `keyed`: a colon. `behind`: the character after a value. `over`: the rest is ignored.
 * `held`: the rest is repaired at the end.
 */
type State = 'start' | 'item' | 'key' | 'keyed' | 'value' | 'word' | 'string' | 'quoted' | 'behind' | 'over' | 'held'

/**
 * Converts call arguments, as models and their servers write them, to the JSON object they mean.
 *
 * Valid JSON passes piece by piece. Keys, commas, numbers, and words wait until their value starts or ends, so that the
 * output so far can always be closed. Characters in strings are escaped where needed, and literals of other languages
 * become JSON. At the first invalid character the rest is held until the end, then repaired as a continuation of the
 * output (`Repair`) and closed. If nothing has passed and the meaning is unclear, the whole text becomes the member
 * `arguments` of an object. Arguments that arrive whole give the same result.
 */
export class ArgumentsReader {
  #state: State = 'start'
  readonly #stack: Frame[] = []
  #place: Place = 'value'
  #raw = ''
  #clean = ''
  #word = ''
  #escape = ''
  #passed = false
  /** An empty object came first: some servers send one before the arguments. */
  #empty = false
  #out = ''

  push(piece: string): string {
    for (let at = 0; at < piece.length; at++) {
      if (this.#state === 'held') {
        this.#raw += piece.slice(at)
        break
      }
      if (this.#state === 'over') break
      const plain = this.#state === 'string' && this.#escape === '' ? plainFrom(piece, at) : ''
      if (plain === '') this.#step(piece[at]!)
      else {
        this.#out += plain
        at += plain.length - 1
      }
    }
    return this.#take()
  }

  end(): string {
    if (this.#state !== 'over') {
      if (this.#passed) this.#out += new Repair(this.#raw, this.#stack).read(this.#place)
      else this.#out = this.#empty && !/^\s*\{/.test(this.#raw) ? '{}' : meaningOf(this.#raw)
    }
    this.#state = 'over'
    return this.#take()
  }

  #take(): string {
    const out = this.#out
    this.#out = ''
    return out
  }

  #step(character: string): void {
    this.#raw += character
    if (!this.#read(character)) this.#state = 'held'
  }

  /** False: JSON doesn't allow the character here. */
  #read(character: string): boolean {
    const isSpace = character === ' ' || character === '\n' || character === '\t' || character === '\r'
    switch (this.#state) {
      case 'start':
        return this.#start(character)
      case 'string':
      case 'key':
        return this.#inString(character)
      case 'word':
        return this.#inWord(character, isSpace)
      default:
    }
    if (isSpace) {
      this.#clean += character
      if (this.#state === 'behind') this.#pass('behind')
      return true
    }
    switch (this.#state) {
      case 'keyed':
        if (character !== ':') return false
        this.#clean += character
        this.#state = 'value'
        return true
      case 'item':
        return this.#item(character)
      case 'value':
        return this.#value(character)
      case 'quoted':
        return this.#follows(character)
      default:
        return this.#behind(character)
    }
  }

  #start(character: string): boolean {
    if (character === '{') {
      this.#raw = '{'
      this.#clean = '{'
      this.#stack.push({ kind: '{', filled: false })
      this.#state = 'item'
    }
    return character === '{' || this.#empty || /[\s\uFEFF]/.test(character)
  }

  #item(character: string): boolean {
    if (character === '}' || character === ']') return this.#closeEarly(character)
    if (this.#stack.at(-1)!.kind === '[') return this.#value(character)
    if (character !== '"') return false
    this.#word = '"'
    this.#state = 'key'
    return true
  }

  #value(character: string): boolean {
    if (character === '"') {
      this.#clean += character
      this.#pass('string')
      this.#state = 'string'
      return true
    }
    if (character === '{' || character === '[') {
      this.#clean += character
      this.#pass('value')
      this.#stack.push({ kind: character, filled: false })
      this.#state = 'item'
      return true
    }
    if (!/[\w+.-]/.test(character)) return false
    this.#word = character
    this.#state = 'word'
    return true
  }

  #closeEarly(character: string): boolean {
    const frame = this.#stack.at(-1)!
    if ((character === '}') !== (frame.kind === '{')) return false
    if (!this.#passed) {
      // The real object may follow.
      this.#stack.pop()
      this.#raw = ''
      this.#clean = ''
      this.#empty = true
      this.#state = 'start'
      return true
    }
    this.#clean = frame.filled ? '' : this.#clean
    return this.#close(character)
  }

  #close(character: string): boolean {
    this.#stack.pop()
    this.#clean += character
    this.#pass('behind')
    this.#state = this.#stack.length === 0 ? 'over' : 'behind'
    return true
  }

  #behind(character: string): boolean {
    const frame = this.#stack.at(-1)!
    if (character === (frame.kind === '{' ? '}' : ']')) return this.#close(character)
    if (character !== ',') return false
    this.#clean = this.#raw = character
    this.#state = 'item'
    return true
  }

  /** The quote only ends the string if a comma or bracket follows. */
  #follows(character: string): boolean {
    const { kind } = this.#stack.at(-1)!
    if (character !== ',' && character !== (kind === '{' ? '}' : ']')) return false
    this.#pass('behind')
    return this.#behind(character)
  }

  #inString(character: string): boolean {
    const isKey = this.#state === 'key'
    const add = (text: string): void => {
      this.#escape = ''
      if (isKey) this.#word += text
      else {
        this.#out += text
        this.#raw = ''
      }
    }
    if (this.#escape === '\\') {
      if (character === 'u') this.#escape = '\\u'
      else add(escapeOf(character))
      return true
    }
    if (this.#escape !== '') {
      if (!/[\da-fA-F]/.test(character)) {
        const escape = this.#escape
        add(`\\${escape}`)
        this.#raw = isKey ? this.#raw : character
        return this.#inString(character)
      }
      this.#escape += character
      if (this.#escape.length === 6) add(this.#escape)
      return true
    }
    if (character === '\\') this.#escape = character
    else if (character === '"') {
      this.#clean += isKey ? `${this.#word}"` : '"'
      this.#state = isKey ? 'keyed' : 'quoted'
    } else add(escapeCharacter(character))
    return true
  }

  #inWord(character: string, isSpace: boolean): boolean {
    const isEnd = character === ',' || character === '}' || character === ']'
    if (!isEnd) {
      this.#word += character
      return isSpace || /[\w+.-]/.test(character)
    }
    const scalar = scalarOf(this.#word.trim())
    if (scalar === null) return false
    this.#clean += scalar + this.#word.slice(this.#word.trimEnd().length)
    this.#pass('behind')
    return this.#behind(character)
  }

  #pass(place: Place): void {
    this.#out += this.#clean
    this.#clean = ''
    this.#raw = ''
    this.#passed = true
    this.#place = place
    const frame = this.#stack.at(-1)
    if (frame !== undefined) frame.filled = true
    if (place === 'behind') this.#state = 'behind'
  }
}

function plainFrom(text: string, at: number): string {
  let end = at
  while (end < text.length && text[end]! >= ' ' && text[end] !== '"' && text[end] !== '\\') end++
  return text.slice(at, end)
}

export function argumentsOf(words: string): string {
  if (isObject(parseJson(words))) return words
  const reader = new ArgumentsReader()
  return reader.push(words) + reader.end()
}

export const argumentsObject = (words: string): Record<string, unknown> =>
  parseJson(argumentsOf(words)) as Record<string, unknown>
