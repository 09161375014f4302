/** Longer words are skipped, so that a sender can't use up CPU time. */
const LONGEST = 64
const LETTERS_PER_EDIT = 3
const MAX_EDITS = 3

export function nearWord(word: string, candidates: Iterable<string>): string | null {
  if (word.length > LONGEST) return null
  const target = plain(word)
  let nearest: string | null = null
  let least = Math.min(MAX_EDITS, Math.max(1, Math.floor(target.length / LETTERS_PER_EDIT))) + 1
  for (const one of candidates) {
    if (one.length > LONGEST) continue
    const count = edits(target, plain(one))
    if (count >= least) continue
    ;[nearest, least] = [one, count]
  }
  return nearest
}

/** `workspaceId`, `workspace-id` and `workspace_id` are one word. */
const plain = (word: string): string => word.toLowerCase().replaceAll(/[_\s-]/g, '')

/** Optimal string alignment: insertions, deletions, substitutions, and swaps of neighbors. */
export function edits(a: string, b: string): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)]
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + Number(a[i - 1] !== b[j - 1])
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      next[j] = Math.min(next[j - 1]! + 1, row[j]! + 1, substitution, isSwapped ? before[j - 2]! + 1 : substitution)
    }
    ;[before, row] = [row, next]
  }
  return row[b.length]!
}
