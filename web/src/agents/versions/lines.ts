/** A line of a diff: in both versions, only in the old one, or only in the new one. */
export interface DiffLine {
  kind: 'same' | 'gone' | 'new'
  text: string
}

/** The maximum size of the comparison table. Larger differences are shown as one removed and one added block. */
const MAX_CELLS = 4_000_000

export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)]
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const line =
    (kind: DiffLine['kind']) =>
    (text: string): DiffLine => ({ kind, text })
  return [
    ...a.slice(0, head).map(line('same')),
    ...between(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(line('same')),
  ]
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.split('\n'))

function between(a: readonly string[], b: readonly string[]): DiffLine[] {
  const gone = (text: string): DiffLine => ({ kind: 'gone', text })
  const fresh = (text: string): DiffLine => ({ kind: 'new', text })
  if (a.length * b.length > MAX_CELLS) return [...a.map(gone), ...b.map(fresh)]
  const width = b.length + 1
  /** The length of the common subsequence from `i` and `j` on. */
  const common = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!)
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i]! })
      i++
      j++
    } else if (common[(i + 1) * width + j]! >= common[i * width + j + 1]!) lines.push(gone(a[i++]!))
    else lines.push(fresh(b[j++]!))
  }
  return [...lines, ...a.slice(i).map(gone), ...b.slice(j).map(fresh)]
}
