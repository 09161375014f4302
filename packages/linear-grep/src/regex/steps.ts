/** Larger patterns are refused before compiling, which takes 3 µs per step and blocks the process. */
export const MAX_STEPS = 20_000

const TIMES = /\{(\d{1,4})(,(\d{0,4}))?\}/y

/** A Unicode property copies a table of hundreds of ranges. */
const PROPERTY = 20
/** Ranges with ends beyond ASCII fold case per character. Spelled-out ranges have a known size. */
const WIDE_RANGE = 1_000
const WIDE = /([^\0-\x7f]?)-(?:([^\0-\x7f])|\\x\{)/gu

/**
 * Estimates re2js's program size, rather too high: `(ab){3}` has nine steps. Expensive constructs count more. Works for
 * invalid patterns too.
 */
export function stepsOf(pattern: string): number {
  const groups = [0]
  let last = 0
  const add = (steps: number): void => {
    last = steps
    groups[groups.length - 1]! += steps
  }
  for (let at = 0; at < pattern.length; at++) {
    TIMES.lastIndex = at
    const times = TIMES.exec(pattern)
    if (times !== null) {
      const count = Number(times[3] ?? '') || Number(times[1]) + (times[2] === undefined ? 0 : 1)
      if (count > 1) {
        groups[groups.length - 1]! += last * (count - 1)
        last *= count
      }
      at += times[0].length - 1
      continue
    }
    switch (pattern[at]) {
      case '\\':
        switch (pattern[at + 1]) {
          case 'Q': {
            // Plain up to `\E`; a following repetition applies to the last character.
            const end = pattern.indexOf('\\E', at)
            const stop = end < 0 ? pattern.length : end
            add(Math.max(0, stop - at - 2))
            last = 1
            at = stop + 1
            break
          }
          case 'p':
          case 'P':
            at = endOfName(pattern, at + 1)
            add(PROPERTY)
            break
          case 'x':
            at = endOfName(pattern, at + 1)
            add(1)
            break
          default:
            at++
            add(1)
        }
        break
      case '[':
        add(1 + costOfClass(pattern.slice(at, (at = endOfClass(pattern, at)) + 1)))
        break
      case '(':
        groups.push(0)
        break
      case ')':
        if (groups.length > 1) add(groups.pop()! + 1)
        break
      default:
        if (!'*+?'.includes(pattern[at]!)) add(1)
    }
  }
  return groups.reduce((sum, steps) => sum + steps, 0)
}

const endOfName = (pattern: string, letter: number): number =>
  pattern[letter + 1] === '{' ? Math.max(letter, pattern.indexOf('}', letter)) : letter

const costOfClass = (text: string): number =>
  Array.from(text.matchAll(WIDE), ([, from, to]) => costOfRange(from, to)).reduce((sum, cost) => sum + cost, 0) +
  PROPERTY * (text.match(/\\[pP]/g)?.length ?? 0)

const costOfRange = (from: string | undefined, to: string | undefined): number =>
  from && to ? Math.min(WIDE_RANGE, Math.max(1, to.codePointAt(0)! - from.codePointAt(0)!)) : WIDE_RANGE

function endOfClass(pattern: string, start: number): number {
  const first = pattern[start + 1] === '^' ? start + 2 : start + 1
  for (let at = first; at < pattern.length; at++) {
    if (pattern[at] === '\\') at++
    else if (pattern.startsWith('[:', at)) at = Math.max(at, pattern.indexOf(':]', at + 2) + 1)
    else if (pattern[at] === ']' && at > first) return at
  }
  return pattern.length
}
