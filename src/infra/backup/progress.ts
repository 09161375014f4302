export interface Progress {
  begin(doing: string, total: number | null): void
  add(bytes: number): void
}
