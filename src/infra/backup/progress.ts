/** Hears how far a backup or a restore is. */
export interface Progress {
  /** A part of the work begins; `total` bytes are expected of it, null where nobody knows. */
  begin(doing: string, total: number | null): void
  add(bytes: number): void
}
