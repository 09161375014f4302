export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Readers that never fail, for answers that were already paid for: the value, or an empty one if the type differs. */
export const objectOf = (value: unknown): Json => (isObject(value) ? value : {})
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
/** Some providers send numbers as strings. */
export function figureOf(value: unknown): number | null {
  const figure = typeof value === 'string' && /^\d{1,15}(?:\.\d+)?$/.test(value) ? Number(value) : value
  return typeof figure === 'number' && Number.isFinite(figure) ? figure : null
}
export const countOf = (value: unknown): number => Math.max(0, figureOf(value) ?? 0)

export const isWord = (value: unknown): value is string => typeof value === 'string' && value !== ''

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function compact<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}

export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) {
    for (const item of value) if (isDeeper(item, levels - 1)) return true
    return false
  }
  for (const key in value) if (isDeeper((value as Json)[key], levels - 1)) return true
  return false
}
