export interface Progress {
  /** Starts a phase; `total` bytes are expected, null if unknown. */
  begin(doing: string, total: number | null): void
  add(bytes: number): void
}
