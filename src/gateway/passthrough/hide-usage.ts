/**
 * Takes the event of an OpenAI stream out that only says what was used, for a client that did not ask for it: the
 * gateway asked in its place. Whole events in, whole events out; everything else stays as it is.
 */
export function hideUsage(events: Buffer): Buffer {
  const kept: Buffer[] = []
  let from = 0
  let looked = 0
  let at = events.indexOf('"usage"')
  while (at >= 0) {
    let next = at + 7
    if (holdsObject(events, next)) {
      const start = looked + startOfEvent(events.subarray(looked, at))
      // One look is enough for each event, however often it has the word.
      next = looked = endOfEvent(events, at)
      if (saysOnlyUsage(events.toString('utf8', start, next))) {
        kept.push(events.subarray(from, start))
        from = next
      }
    }
    at = events.indexOf('"usage"', next)
  }
  if (from === 0) return events
  const rest = events.subarray(from)
  if (kept.every(({ length }) => length === 0)) return rest
  return Buffer.concat([...kept, rest])
}

/** Whether a colon and an opening brace follow; most chunks say `"usage":null`. */
function holdsObject(bytes: Buffer, at: number): boolean {
  while (bytes[at] === 0x20) at++
  if (bytes[at] !== 0x3a) return false
  at++
  while (bytes[at] === 0x20) at++
  return bytes[at] === 0x7b
}

/** Where the last event of these begins, which has no end in them. */
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
