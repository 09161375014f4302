import { isObject, parseJson } from '../../model/json.ts'

/**
 * Arguments of a call as models and their servers really write them, turned into the JSON object that they mean. The
 * text of a proper object passes as it is, piece by piece. In it are put right:
 * raw control characters and unknown escapes in strings; single quotes; commas before a bracket; Python's `True`, `False`
 * and `None`; what stands behind the object (a closing tag, the object once more); an empty object before the real one.
 * Text that does not begin with an object is held to its end: nothing, `null` and `[]` mean no arguments, and a fence or
 * a string around an object means the object. What has no clear meaning is kept in an object of its own.
 */
export class ArgumentsReader {
  /** Text that does not begin with an object. Null: it does. */
  #held: string | null = ''
  #out = ''
  /** Open brackets. */
  #depth = 0
  /** The quote of the string that is open. */
  #quote = ''
  /** A character that waits for the next one: a backslash, a comma, Python's `N`. */
  #waiting = ''
  /** Characters of a word that are passed over. */
  #skip = 0
  /** Something stands in the object. */
  #filled = false
  #over = false

  /** The text that is certain now. */
  push(piece: string): string {
    let text = piece
    if (this.#held !== null) {
      this.#held += text
      if (!/^[\s\uFEFF]*\{/.test(this.#held)) return ''
      text = this.#held.replace(/^[\s\uFEFF]+/, '')
      this.#held = null
    }
    for (let at = 0; at < text.length; at++) {
      const plain = this.#quote === '' || this.#waiting !== '' ? '' : plainFrom(text, at)
      if (plain === '') this.#read(text[at]!)
      else {
        this.#out += plain
        at += plain.length - 1
      }
    }
    return this.#take()
  }

  /** The rest: nothing more comes. */
  end(): string {
    if (this.#held !== null) return meaningOf(this.#held)
    // An empty object that nothing followed.
    if (this.#over && !this.#filled) this.#out = '{}'
    this.#filled = true
    return this.#take()
  }

  #take(): string {
    // An empty object may stand before the real one.
    if (!this.#filled) return ''
    const out = this.#out
    this.#out = ''
    return out
  }

  #read(character: string): void {
    if (this.#skip > 0) this.#skip--
    else if (this.#over) this.#behind(character)
    else if (this.#quote !== '') this.#inString(character)
    else this.#outside(character)
  }

  /** Behind the object only another one counts, where the first was empty. */
  #behind(character: string): void {
    if (this.#filled || character !== '{') return
    this.#out = '{'
    this.#depth = 1
    this.#over = false
  }

  #inString(character: string): void {
    if (this.#waiting === '\\') {
      this.#waiting = ''
      if (character === "'") this.#out += "'"
      else this.#out += VALID_ESCAPES.has(character) ? `\\${character}` : `\\\\${escaped(character)}`
    } else if (character === '\\') this.#waiting = '\\'
    else if (character === this.#quote) {
      this.#out += '"'
      this.#quote = ''
    } else this.#out += character === '"' ? '\\"' : escaped(character)
  }

  #outside(character: string): void {
    if (this.#waiting === 'N') {
      // None, NaN.
      this.#waiting = ''
      this.#out += 'null'
      this.#skip = character === 'o' ? 2 : 1
      return
    }
    if (/\s/.test(character)) {
      if (this.#waiting === '') this.#out += character
      return
    }
    if (this.#waiting === ',') {
      this.#waiting = ''
      if (character !== '}' && character !== ']') this.#out += ','
    }
    if (character === ',' || character === 'N') this.#waiting = character
    else if (character === '"' || character === "'") {
      this.#quote = character
      this.#out += '"'
    } else this.#out += character === 'T' || character === 'F' ? character.toLowerCase() : character
    if (character === '{' || character === '[') {
      this.#depth++
      this.#filled ||= this.#depth > 1
    } else if (character === '}' || character === ']') this.#over = --this.#depth <= 0
    else this.#filled = true
  }
}

/** Characters of a string that mean nothing else. */
function plainFrom(text: string, at: number): string {
  let end = at
  while (end < text.length && text[end]! >= ' ' && !SPECIAL.has(text[end]!)) end++
  return text.slice(at, end)
}
const SPECIAL: ReadonlySet<string> = new Set(`"'\\`)

const VALID_ESCAPES: ReadonlySet<string> = new Set('"\\/bfnrtu')

const escaped = (character: string): string => (character < ' ' ? JSON.stringify(character).slice(1, -1) : character)

/** Of text that does not begin with an object. */
function meaningOf(given: string): string {
  const text = given.replace(/^[\s\uFEFF]+|\s+$/g, '')
  if (/^(?:null|none|undefined|\[\s*\])?$/i.test(text)) return '{}'
  const fenced = /^```[a-z]*\s*([\s\S]*?)\s*```$/i.exec(text)?.[1]
  const parsed = fenced ?? parseJson(text)
  if (typeof parsed === 'string' && /^\s*\{/.test(parsed)) return argumentsOf(parsed)
  return JSON.stringify({ arguments: fenced === undefined && parsed !== undefined ? parsed : given.toWellFormed() })
}

/** The whole arguments of a call as the text of a JSON object. */
export function argumentsOf(words: string): string {
  if (isObject(parseJson(words))) return words
  const reader = new ArgumentsReader()
  const text = reader.push(words) + reader.end()
  return isObject(parseJson(text)) ? text : JSON.stringify({ arguments: words.toWellFormed() })
}

/** The same as an object, for shapes that have it so. */
export const argumentsObject = (words: string): Record<string, unknown> =>
  parseJson(argumentsOf(words)) as Record<string, unknown>
