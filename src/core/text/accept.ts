/**
 * Whether an `Accept` header accepts a media type (RFC 9110, 12.5.1). A missing header accepts everything; the most
 * specific range decides, and `q=0` refuses.
 */
export const accepts = (header: string | undefined, type: string): boolean => qualityOf(header, type) > 0

/** The preference for a media type, from 0 to 1. Range parameters other than `q` are ignored. */
export function qualityOf(header: string | undefined, type: string): number {
  if (header === undefined || header.trim() === '') return 1
  const whole = type.toLowerCase()
  const main = `${whole.slice(0, whole.indexOf('/'))}/*`
  const qualities = new Map<string, number>()
  for (const range of splitList(header)) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))
    const quality = weight === undefined ? 1 : qualityIn(weight)
    // `*` alone isn't a range, but Java's old clients send it for `*/*`.
    const key = name === '*' ? '*/*' : name
    if (key !== '') qualities.set(key, Math.max(quality, qualities.get(key) ?? 0))
  }
  return qualities.get(whole) ?? qualities.get(main) ?? qualities.get('*/*') ?? 0
}

function qualityIn(weight: string): number {
  const value = Number(weight.slice(weight.indexOf('=') + 1).trim() || 'x')
  return Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : 1
}

/** The elements of a list, in which a quoted string may hold commas. */
const splitList = (header: string): string[] => header.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? []
