/** The report of a bench: raw rows, kept in bench/results, and the table that is made from them and nothing else. */
export interface Report {
  name: string
  rows: Record<string, unknown>[]
  table: string
}
