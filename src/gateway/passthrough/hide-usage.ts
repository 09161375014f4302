/**
 * Takes the event of an OpenAI stream out that only says what was used, for a client that did not ask for it: the
 * gateway asked in its place. Whole events in, whole events out; everything else stays as it is.
 */
export function hideUsage(events: Buffer): Buffer {
  let out = events
  for (let at = out.indexOf('"usage"'); at >= 0; at = out.indexOf('"usage"', at)) {
    const next = at + 7
    if (!holdsObject(out, next)) {
      at = next
      continue
    }
    const start = startOfEvent(out, at)
    const end = endOfEvent(out, at)
    at = next
    if (!saysOnlyUsage(out.toString('utf8', start, end))) continue
    if (start === 0) out = out.subarray(end)
    else if (end === out.length) out = out.subarray(0, start)
    else out = Buffer.concat([out.subarray(0, start), out.subarray(end)])
    at = start
  }
  return out
}

/** Whether a colon and an opening brace follow; most chunks say `"usage":null`. */
function holdsObject(bytes: Buffer, at: number): boolean {
  while (bytes[at] === 0x20) at++
  if (bytes[at] !== 0x3a) return false
  at++
  while (bytes[at] === 0x20) at++
  return bytes[at] === 0x7b
}

function startOfEvent(bytes: Buffer, at: number): number {
  const start = bytes.lastIndexOf('\n\n', at)
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
