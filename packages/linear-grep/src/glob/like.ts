/** Characters between two `%`: PostgreSQL compares them at every position of the path. */
const MAX_PIECE = 64

/** A `like` pattern for a glob: less exact, never narrower, and cheap for any path. */
export function likeOf(glob: string, isAnchored: boolean): string {
  const pieces: string[] = isAnchored ? [] : ['%']
  let run = 0
  const any = (): void => {
    if (pieces.at(-1) !== '%') pieces.push('%')
    run = 0
  }
  const one = (piece: string): void => {
    // The glob checks the rest of a long run.
    if (++run > MAX_PIECE && pieces.at(-1) !== '%') pieces.push('%')
    if (run <= MAX_PIECE) pieces.push(piece)
  }
  let depth = 0
  const chars = Array.from(glob)
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i]!
    if (char === '\\') i++
    if (char === '{') depth++
    else if (char === '}') depth--
    if (char === '[') {
      i++
      if (chars[i] === '!' || chars[i] === '^') i++
      for (i++; i < chars.length && chars[i] !== ']'; i++) if (chars[i] === '\\') i++
      if (depth === 0) one('_')
      continue
    }
    if (char === '}') any()
    else if (depth > 0) continue
    else if (char === '*') {
      any()
      // `**/` may match nothing, including its slash.
      if (chars[i + 1] === '*' && chars[i + 2] === '/') i += 2
    } else if (char === '?') one('_')
    else one((char === '\\' ? (chars[i] ?? '') : char).replace(/[\\%_]/, String.raw`\$&`))
  }
  return pieces.join('')
}
