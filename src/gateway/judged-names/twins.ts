import { refuse } from '#core/errors.ts'
import type { Body } from '../model/body.ts'
import { endOfString, endOfValue, skipSpace } from '../model/json-bytes.ts'
import { judgedNames, ownData, ownNames } from './judged-names.ts'
import { shorten } from '#core/text/shorten.ts'

/** Letters that Go's `encoding/json` and other case-insensitive parsers take for the ASCII letters `s` and `k`. */
const fold = (name: string): string => name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase()

const byFold = new Map([...judgedNames].map((name) => [fold(name), name]))
const LONGEST = Math.max(...[...judgedNames].map(({ length }) => length))

/** Null: it is that exact name, or unrelated. */
export function twinOf(name: string): string | null {
  if (name.length > LONGEST || judgedNames.has(name)) return null
  return byFold.get(fold(name)) ?? null
}

export function refuseTwin(name: string, path = name): void {
  const twin = twinOf(name)
  if (twin === null) return
  const shownPath = shorten(path, 200)
  refuse('invalid_parameter', {
    param: shownPath,
    message: `\`${shownPath}\` differs from \`${twin}\` only in upper and lower case. Field names are case-sensitive: use \`${twin}\`.`,
  })
}

/**
 * Refuses a body that the provider may read differently: a name occurs twice in one object, or equals a checked name
 * when ignoring case. Names in the user's own data are free.
 */
export function refuseTwins(body: Body): void {
  if (body.places !== null || !body.mayHoldTwins) return
  walk(body.bytes, body.bytes.indexOf(0x7b), '', true, false)
}

/** Walks the well-formed value at `at` and returns its end. `own`: the names of this object are the user's. */
function walk(bytes: Buffer, at: number, path: string, isTop: boolean, own: boolean): number {
  const opening = bytes[at]
  if (opening === 0x5b) return walkList(bytes, at, path)
  if (opening !== 0x7b) return endOfValue(bytes, at)
  const names = new Set<string>()
  at = skipSpace(bytes, at + 1)
  while (bytes[at] === 0x22) {
    const nameEnd = endOfString(bytes, at)
    const name = nameAt(bytes, at, nameEnd)
    const here = path === '' ? name : `${path}.${name}`
    if (names.has(name))
      refuse('invalid_parameter', { param: shorten(here, 200), message: `\`${shorten(here, 200)}\` is set twice.` })
    names.add(name)
    if (!own) refuseTwin(name, here)
    const start = skipSpace(bytes, skipSpace(bytes, nameEnd) + 1)
    const isData = ownData.has(name) || (name === 'input' && !isTop)
    at = skipSpace(
      bytes,
      isData ? endOfValue(bytes, start) : walk(bytes, start, here, false, !own && ownNames.has(name)),
    )
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1)
  }
  return at + 1
}

function walkList(bytes: Buffer, at: number, path: string): number {
  at = skipSpace(bytes, at + 1)
  for (let i = 0; bytes[at] !== 0x5d; i++) {
    const byte = bytes[at]
    at = skipSpace(
      bytes,
      byte === 0x7b || byte === 0x5b ? walk(bytes, at, `${path}.${i}`, false, false) : endOfValue(bytes, at),
    )
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1)
  }
  return at + 1
}

function nameAt(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}
