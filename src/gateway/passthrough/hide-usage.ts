/** For a client that didn't request usage: the gateway did. Whole events in, whole events out. */
export function hideUsage(events: Buffer): Buffer {
  const pieces: Buffer[] = []
  let from = 0
  let checkedTo = 0
  let at = events.indexOf('"usage"')
  while (at >= 0) {
    let next = at + 7
    if (holdsObject(events, next)) {
      const start = checkedTo + startOfEvent(events.subarray(checkedTo, at))
      // One check per event is enough, however often it contains the word.
      next = checkedTo = endOfEvent(events, at)
      if (saysOnlyUsage(events.toString('utf8', start, next))) {
        pieces.push(events.subarray(from, start))
        from = next
      }
    }
    at = events.indexOf('"usage"', next)
  }
  if (from === 0) return events
  const rest = events.subarray(from)
  if (pieces.every(({ length }) => length === 0)) return rest
  return Buffer.concat([...pieces, rest])
}

/** Most chunks have `"usage":null`. */
function holdsObject(bytes: Buffer, at: number): boolean {
  while (bytes[at] === 0x20) at++
  if (bytes[at] !== 0x3a) return false
  at++
  while (bytes[at] === 0x20) at++
  return bytes[at] === 0x7b
}

function startOfEvent(events: Buffer): number {
  const start = events.lastIndexOf('\n\n')
  return start < 0 ? 0 : start + 2
}

function endOfEvent(bytes: Buffer, at: number): number {
  const end = bytes.indexOf('\n\n', at)
  return end < 0 ? bytes.length : end + 2
}

function saysOnlyUsage(event: string): boolean {
  const data = /^data:([^\n]*)$/m.exec(event)
  if (!data) return false
  try {
    const { choices, usage } = JSON.parse(data[1]!) as { choices?: unknown; usage?: unknown }
    return Array.isArray(choices) && choices.length === 0 && usage !== null && typeof usage === 'object'
  } catch {
    return false
  }
}
