export const PIECE = 256 << 10
/** Nesting levels written in pieces; deeper values are written whole. */
const DEEPEST = 6

/** Estimates a value's JSON length in characters without encoding it. */
export function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 6
  let characters = 2
  if (Array.isArray(value)) for (const one of value) characters += 1 + charactersOf(one)
  else for (const name in value) characters += name.length + 4 + charactersOf((value as Record<string, unknown>)[name])
  return characters
}

export function* jsonPieces(value: object, size = PIECE): Generator<string, void, undefined> {
  let piece = ''
  for (const fragment of fragmentsOf(value, size, DEEPEST)) {
    piece += fragment
    if (piece.length < size) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

function* fragmentsOf(value: unknown, size: number, depth: number): Generator<string, void, undefined> {
  if (typeof value === 'string' && value.length > size) yield* fragmentsOfString(value, size)
  else if (depth === 0 || !isPlain(value) || charactersOf(value) < size) yield JSON.stringify(value)
  else if (Array.isArray(value)) {
    for (const [at, one] of value.entries()) {
      yield at === 0 ? '[' : ','
      yield* fragmentsOf(isWritten(one) ? one : null, size, depth - 1)
    }
    yield value.length === 0 ? '[]' : ']'
  } else {
    let mark = '{'
    for (const [name, one] of Object.entries(value)) {
      if (!isWritten(one)) continue
      yield `${mark}${JSON.stringify(name)}:`
      mark = ','
      yield* fragmentsOf(one, size, depth - 1)
    }
    yield mark === '{' ? '{}' : '}'
  }
}

function* fragmentsOfString(text: string, size: number): Generator<string, void, undefined> {
  yield '"'
  for (let from = 0; from < text.length;) {
    let end = Math.min(text.length, from + size)
    // A lone surrogate would be written as an escape.
    if (isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end))) end++
    yield JSON.stringify(text.slice(from, end)).slice(1, -1)
    from = end
  }
  yield '"'
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** `undefined` members are omitted; in lists they become `null`. */
const isWritten = (value: unknown): boolean =>
  value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'

/** Values such as dates define their own encoding and are written whole. */
const isPlain = (value: unknown): value is object =>
  value !== null &&
  typeof value === 'object' &&
  typeof (value as { toJSON?: unknown }).toJSON !== 'function' &&
  (Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null))
