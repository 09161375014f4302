/** A pattern of more steps is refused before it is compiled: that takes 3 µs a step, and keeps everybody waiting. */
export const MOST_STEPS = 20_000

const TIMES = /\{(\d{1,4})(,(\d{0,4}))?\}/y

/**
 * How many steps re2js makes of a pattern, about and rather too many: `(ab){3}` has six. A pattern that is not valid has
 * some number as well.
 */
export function stepsOf(pattern: string): number {
  const groups = [0]
  /** Of what a repetition behind it repeats. */
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
        // `\x{1f600}` and `\p{Greek}` are one character.
        at = /^[xpP]\{/.test(pattern.slice(at + 1, at + 3)) ? Math.max(at + 1, pattern.indexOf('}', at)) : at + 1
        add(1)
        break
      case '[':
        at = endOfClass(pattern, at)
        add(1)
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

/** Its first character may be the bracket that else ends it. */
function endOfClass(pattern: string, start: number): number {
  const first = pattern[start + 1] === '^' ? start + 2 : start + 1
  for (let at = first; at < pattern.length; at++) {
    if (pattern[at] === '\\') at++
    else if (pattern.startsWith('[:', at)) at = Math.max(at, pattern.indexOf(':]', at + 2) + 1)
    else if (pattern[at] === ']' && at > first) return at
  }
  return pattern.length
}
