/** Deeper values are written without indentation, which would grow with the square of the depth. */
const DEEPEST = 100

/** Formats a value as JSON. Deep values stay on one line; values too deep for JSON get a message. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value, null, isDeep(value) ? 0 : 2) ?? ''
  } catch {
    return 'This value is nested too deeply to show.'
  }
}

function isDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEEPEST) return true
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return false
}
