import { plainName } from '../../catalogue/catalogue.ts'
import type { ListedOffer } from '../../model/offer.ts'
import { splitVariant } from './variants.ts'

type Names = readonly Pick<ListedOffer, 'slug'>[]

const LONGEST = 100
/** From a longer list, only names near the sorted position are compared. */
const MAX_NAMES = 3_000
/** Limit of compared letter pairs; after it, the nearest so far is returned. */
const MAX_WORK = 500_000

const MAX_EDITS = 3
/** One wrong letter is allowed per this many letters of the longer name. */
const LETTERS_PER_EDIT = 4

const DATE = /[-@](\d{4}-\d\d-\d\d|\d{8}|\d{4}|latest)$/
const LONGEST_DATE = 11

/**
 * Finds a name that differs by a few letters, by its provider, or by its date; without a suffix. `names` must be sorted
 * by slug. `work` limits the comparisons, because names could be chosen to block the process.
 */
export function nearModel(requestedName: string, names: Names, work = { left: MAX_WORK }): string | null {
  const { base } = splitVariant(requestedName)
  if (base.length > LONGEST) return null
  const whole = plainName(base)
  const own = withoutDate(whole)
  const differs = lettersOf(own)
  let nearest: string | null = null
  let least = Math.min(MAX_EDITS, Math.floor((own.length + 1) / LETTERS_PER_EDIT))
  let further = LONGEST
  for (const { slug: name } of about(base, names)) {
    if (work.left <= 0) break
    const bare = name.length - name.lastIndexOf('/') - 1
    if (bare < own.length - least || bare > own.length + least + LONGEST_DATE) continue
    const plain = plainName(name)
    const short = withoutDate(plain)
    if (differs(short, least)) continue
    const count = edits(own, short, least, work)
    if (count > least || count > Math.max(own.length, short.length) / LETTERS_PER_EDIT) continue
    const wholly = edits(whole, plain, count < least ? LONGEST : further, work)
    if (count === least && wholly >= further) continue
    ;[nearest, least, further] = [name, count, wholly]
  }
  return nearest
}

const withoutDate = (name: string): string => name.slice(name.lastIndexOf('/') + 1).replace(DATE, '')

function about(requestedName: string, names: Names): Names {
  if (names.length <= MAX_NAMES) return names
  let [from, to] = [0, names.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (names[middle]!.slug < requestedName) from = middle + 1
    else to = middle
  }
  const first = Math.max(0, Math.min(from - MAX_NAMES / 2, names.length - MAX_NAMES))
  return names.slice(first, first + MAX_NAMES)
}

/** A lower bound for the edits. */
function lettersOf(name: string): (other: string, most: number) => boolean {
  const remaining = new Int16Array(128)
  for (let i = 0; i < name.length; i++) remaining[name.charCodeAt(i) & 127]!++
  return (other, most) => {
    let lacking = 0
    let i = 0
    while (i < other.length && lacking <= most) if (--remaining[other.charCodeAt(i++) & 127]! < 0) lacking++
    while (i > 0) remaining[other.charCodeAt(--i) & 127]!++
    return lacking > most
  }
}

/** Exact up to `most`: only the band of that width around the diagonal is computed. */
function edits(a: string, b: string, most: number, work: { left: number }): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let [before, last, row] = rows
  for (let j = 0; j <= Math.min(b.length, most); j++) last[j] = j
  for (let i = 1; i <= a.length; i++) {
    const [from, to] = [Math.max(1, i - most), Math.min(b.length, i + most)]
    if ((work.left -= to - from + 1) < 0) return most + 1
    let least = (row[from - 1] = i <= most ? i : most + 1)
    // Beyond its end the row above is undefined.
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
