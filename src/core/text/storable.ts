export const storable = (words: string): string => words.replaceAll('\0', '').toWellFormed()

/** Parses JSON so that it fits a `jsonb` column, including field names. Throws if it isn't JSON. */
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
