/** A redraft is put into an answer that passes as its provider wrote it. Whole events and whole answers in and out. */
export interface Redraft {
  events(events: Buffer): Buffer
  /** Absent: a whole answer stays as it is. */
  whole?(answer: Buffer): Buffer
}
