/** What is said at once has at most 64 KiB, and its envelope needs some of that. */
const MOST_BYTES = 57_344

/** The rows from `from` on that fit into one answer, at least one; `next`: from where on the others are asked for. */
export function partOf<T>(all: readonly T[], from = 0): { rows: T[]; next: number | null } {
  const rows: T[] = []
  let bytes = 0
  for (const row of all.slice(from)) {
    bytes += Buffer.byteLength(JSON.stringify(row)) + 1
    if (rows.length > 0 && bytes > MOST_BYTES) return { rows, next: from + rows.length }
    rows.push(row)
  }
  return { rows, next: null }
}
