import { refuse } from '../errors.ts'
import { SMALL, lastOfString } from '#packages/json-scan/json-text.ts'
import { shorten } from '../text/shorten.ts'

export interface CountLimits {
  lists: Readonly<Record<string, number>>
  otherLists: number
  /** A list in an object of a top-level list, such as a message's parts. */
  inner: number
  values: number
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
/** Nesting levels tracked; deeper containers only count as values. */
const WATCHED = 4
/** Fields of a body: no schema has a tenth of that. */
const MAX_FIELDS = 1_000

/**
 * Refuses a body with lists that are too long, before parsing it. The error names the list. Broken JSON may pass, since
 * the parser rejects it. Short bodies always pass.
 */
export function checkCounts(bytes: Buffer, limits: CountLimits): void {
  if (bytes.length > SMALL) new Counter(bytes, limits).read()
}

class Counter {
  readonly #bytes: Buffer
  readonly #limits: CountLimits
  #depth = 0
  #values = 0
  readonly #isList = [false, false, false, false, false]
  readonly #elements = [0, 0, 0, 0, 0]
  #field = ''
  /** Offsets of the last field name in a list element. Only used for errors. */
  #innerStart = 0
  #innerEnd = 0
  #expectsName = false

  constructor(bytes: Buffer, limits: CountLimits) {
    this.#bytes = bytes
    this.#limits = limits
  }

  read(): void {
    const bytes = this.#bytes
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte === QUOTE) {
        const end = lastOfString(bytes, at)
        if (this.#expectsName) this.#name(at, end)
        at = end
      } else if (byte === COMMA) this.#next()
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#open(byte === OPEN_LIST)
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.#close()
    }
  }

  #open(isList: boolean): void {
    this.#count()
    this.#depth++
    this.#expectsName = !isList && (this.#depth === 1 || this.#depth === 3)
    if (this.#depth > WATCHED) return
    this.#isList[this.#depth] = isList
    this.#elements[this.#depth] = 1
  }

  #close(): void {
    this.#depth--
    this.#expectsName = false
  }

  #next(): void {
    this.#count()
    const depth = this.#depth
    if (depth > WATCHED) return
    const elements = ++this.#elements[depth]!
    if (!this.#isList[depth]) {
      this.#expectsName = depth === 1 || depth === 3
      if (depth === 1 && elements > MAX_FIELDS)
        refuse('invalid_parameter', { message: `The body has more than ${MAX_FIELDS} fields.` })
      if (depth === 2 && elements > this.#limits.otherLists) tooMany(this.#field, this.#limits.otherLists)
      return
    }
    if (depth === 2) this.#checkList(elements)
    else if (depth === 4 && this.#isList[2] && !this.#isList[3] && elements > this.#limits.inner) {
      const inner = this.#nameAt(this.#innerStart, this.#innerEnd)
      tooMany(`${this.#field}.${this.#elements[2]! - 1}.${inner}`, this.#limits.inner)
    }
  }

  #checkList(elements: number): void {
    const name = this.#field
    const { lists, otherLists } = this.#limits
    const most = Object.hasOwn(lists, name) ? lists[name]! : otherLists
    if (elements > most) tooMany(name, most)
  }

  #count(): void {
    if (++this.#values <= this.#limits.values) return
    const param = shorten(this.#field, 100)
    refuse('invalid_parameter', {
      message: `The body contains more than ${this.#limits.values} values (limit reached at \`${param}\`). Split it into smaller requests.`,
      param,
    })
  }

  #name(start: number, end: number): void {
    this.#expectsName = false
    if (this.#depth === 1) this.#field = this.#nameAt(start, end)
    else [this.#innerStart, this.#innerEnd] = [start, end]
  }

  #nameAt(start: number, end: number): string {
    const raw = this.#bytes.subarray(start + 1, Math.min(end, start + 101))
    return raw.includes(BACKSLASH) ? unescapeJson(this.#bytes.toString('utf8', start, end + 1)) : raw.toString()
  }
}

function unescapeJson(text: string): string {
  try {
    return shorten(JSON.parse(text) as string, 100)
  } catch {
    return ''
  }
}

const tooMany = (param: string, most: number): never =>
  refuse('invalid_parameter', {
    message: `\`${param}\` can have up to ${most} elements. Split it into smaller requests.`,
    param,
  })
