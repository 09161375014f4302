const LF = 0x0a
const DATA = Buffer.from('data')

/**
 * Whole events whose data is one line each: whoever looks into them line by line finds all of it there. Line breaks between
 * two lines of data can only be white space of its JSON. Most events have one line of data, and are not copied.
 */
export function joinDataLines(events: Buffer): Buffer {
  return hasSeveral(events) ? Buffer.from(joined(events.toString())) : events
}

/** Whether a line of data follows another one. */
function hasSeveral(events: Buffer): boolean {
  for (let at = events.indexOf('\ndata'); at > 0; at = events.indexOf('\ndata', at + 1)) {
    if (events[at - 1] === LF) continue
    const start = events.lastIndexOf(LF, at - 1) + 1
    if (events.compare(DATA, 0, DATA.length, start, start + DATA.length) === 0) return true
  }
  return false
}

function joined(events: string): string {
  const out: string[] = []
  /** The place of the event's data in `out`. */
  let data = -1
  for (const line of events.split('\n')) {
    if (line === '') data = -1
    const more = /^data(?:: ?(.*))?$/s.exec(line)
    if (more !== null && data >= 0) out[data] += ` ${more[1] ?? ''}`
    else {
      if (more !== null) data = out.length
      out.push(line)
    }
  }
  return out.join('\n')
}
