import { plainName } from './catalogue/catalogue.ts'
import { splitVariant } from './variants.ts'

/** Longer ones, and what comes after so many, are not looked at. */
const LONGEST = 100
const MOST_NAMES = 3_000

const MOST_EDITS = 3
/** A letter of so many may be wrong. */
const LETTERS_PER_EDIT = 4

const DATE = /[-@](\d{4}-\d\d-\d\d|\d{8}|\d{4}|latest)$/

/**
 * The name that was meant, as far as can be told: one that differs by a few letters, by its provider or by its date.
 * The nearest, of equals the one whose whole name is nearer. Null: none is near.
 */
export function nearModel(asked: string, names: readonly string[]): string | null {
  const { base, suffix } = splitVariant(asked)
  if (base.length > LONGEST) return null
  const whole = plainName(base)
  const own = undated(whole)
  let found: string | null = null
  let least = Math.min(MOST_EDITS, Math.floor(own.length / LETTERS_PER_EDIT))
  let further = LONGEST
  for (const name of names.slice(0, MOST_NAMES)) {
    const plain = plainName(name)
    const count = edits(own, undated(plain), least)
    if (count > least) continue
    const wholly = edits(whole, plain, count < least ? LONGEST : further)
    if (count === least && wholly >= further) continue
    ;[found, least, further] = [name, count, wholly]
  }
  return found === null || suffix === '' ? found : `${found}:${suffix}`
}

/** What a model is called by itself, whoever serves it and since when. */
const undated = (name: string): string => name.slice(name.lastIndexOf('/') + 1).replace(DATE, '')

/**
 * Letters that are missing, too many, wrong, or two in each other's place; above `most`, no matter how many. Only what
 * lies `most` or less beside the diagonal is reckoned.
 */
function edits(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let [before, last, row] = rows
  for (let j = 0; j <= Math.min(b.length, most); j++) last[j] = j
  for (let i = 1; i <= a.length; i++) {
    const [from, to] = [Math.max(1, i - most), Math.min(b.length, i + most)]
    let least = (row[from - 1] = i <= most ? i : most + 1)
    // Beyond its end the row above says nothing.
    if (i + most <= b.length) last[to] = most + 1
    for (let j = from; j <= to; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let count = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) count = Math.min(count, before[j - 2]! + 1)
      row[j] = count
      if (count < least) least = count
    }
    if (least > most) return most + 1
    ;[before, last, row] = [last, row, before]
  }
  return last[b.length]!
}
const rows = [0, 1, 2].map(() => new Uint8Array(2 * LONGEST + 1)) as [Uint8Array, Uint8Array, Uint8Array]
