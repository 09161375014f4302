/** Edits an answer that otherwise passes unchanged. Whole events and whole answers in and out. */
export interface Redraft {
  events(events: Buffer): Buffer
  whole?(answer: Buffer): Buffer
  /** True if a large answer with this beginning must be buffered; absent: large ones pass as they arrive. */
  wantsWhole?(start: Buffer): boolean
}

export function inTurn(redrafts: readonly Redraft[]): Redraft {
  const wholes = redrafts.filter(({ whole }) => whole !== undefined)
  return {
    events: (events) => redrafts.reduce((out, one) => (out.length === 0 ? out : one.events(out)), events),
    wantsWhole: (start) => redrafts.some((one) => one.wantsWhole?.(start) === true),
    ...(wholes.length > 0 && { whole: (answer: Buffer) => wholes.reduce((out, one) => one.whole!(out), answer) }),
  }
}
