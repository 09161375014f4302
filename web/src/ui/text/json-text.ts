/** Values that are deeper than this are written without indentation, which grows with the square of the depth. */
const DEEPEST = 100

/** A value as JSON to read. Deep ones stay on one line, and ones that no line can hold are named as such. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value, null, isDeep(value) ? 0 : 2) ?? ''
  } catch {
    return 'This value is nested too deeply to be shown.'
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
