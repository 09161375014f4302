/** Words from outside as PostgreSQL takes them: it keeps neither NUL characters nor half of a surrogate pair. */
export const storable = (words: string): string => words.replaceAll('\0', '').toWellFormed()

/** JSON from outside, read as a `jsonb` column takes it, the names of its fields included. Throws where it is not JSON. */
export function storableJson(json: string): unknown {
  const words = json.toWellFormed()
  return ESCAPED.test(words) ? JSON.parse(words, (_, value: unknown) => storableValue(value)) : JSON.parse(words)
}

const ESCAPED = /\\u(?:0000|d[89a-f])/i

function storableValue(value: unknown): unknown {
  if (typeof value === 'string') return storable(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [storable(name), one]))
}
