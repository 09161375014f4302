/** A protocol message is limited to 64 KiB, including its envelope. */
const MAX_BYTES = 57_344

/**
 * Returns the rows from `from` that fit into one message, but no fewer than one. `next` is where the next page
 * starts.
 */
export function partOf<T>(all: readonly T[], from = 0): { rows: T[]; next: number | null } {
  const rows: T[] = []
  let bytes = 0
  for (const row of all.slice(from)) {
    bytes += Buffer.byteLength(JSON.stringify(row)) + 1
    if (rows.length > 0 && bytes > MAX_BYTES) return { rows, next: from + rows.length }
    rows.push(row)
  }
  return { rows, next: null }
}
