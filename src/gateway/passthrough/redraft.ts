/** A redraft is put into an answer that passes as its provider wrote it. Whole events and whole answers in and out. */
export interface Redraft {
  events(events: Buffer): Buffer
  /** Absent: a whole answer stays as it is. */
  whole?(answer: Buffer): Buffer
  /** Whether a large answer that begins so is gathered to be redrafted; absent: large ones pass as they come. */
  wantsWhole?(start: Buffer): boolean
}

/** One redraft after the other. */
export function inTurn(redrafts: readonly Redraft[]): Redraft {
  const wholes = redrafts.filter(({ whole }) => whole !== undefined)
  return {
    events: (events) => redrafts.reduce((out, one) => (out.length === 0 ? out : one.events(out)), events),
    wantsWhole: (start) => redrafts.some((one) => one.wantsWhole?.(start) === true),
    ...(wholes.length > 0 && { whole: (answer: Buffer) => wholes.reduce((out, one) => one.whole!(out), answer) }),
  }
}
