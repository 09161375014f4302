const LF = 0x0a
const DATA = Buffer.from('data')

/**
 * Joins the data lines of each event into one, for readers that work line by line. Line breaks between data lines can
 * only be white space of its JSON. Most events have one data line and aren't copied.
 */
export function joinDataLines(events: Buffer): Buffer {
  return hasSeveral(events) ? Buffer.from(joinLines(events.toString())) : events
}

function hasSeveral(events: Buffer): boolean {
  for (let at = events.indexOf('\ndata'); at > 0; at = events.indexOf('\ndata', at + 1)) {
    if (events[at - 1] === LF) continue
    const start = events.lastIndexOf(LF, at - 1) + 1
    if (events.compare(DATA, 0, DATA.length, start, start + DATA.length) === 0) return true
  }
  return false
}

function joinLines(events: string): string {
  const out: string[] = []
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
