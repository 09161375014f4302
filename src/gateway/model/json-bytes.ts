export function skipSpace(bytes: Buffer, at: number): number {
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++
  return at
}

export function endOfString(bytes: Buffer, at: number): number {
  for (let quote = bytes.indexOf(0x22, at + 1); ; quote = bytes.indexOf(0x22, quote + 1)) {
    if (quote < 0) throw new Error('the string does not end')
    let slashes = 0
    while (bytes[quote - 1 - slashes] === 0x5c) slashes++
    if (slashes % 2 === 0) return quote + 1
  }
}

/** Throws if the value doesn't end. */
export function endOfValue(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === 0x22) return endOfString(bytes, at)
  if (byte !== 0x7b && byte !== 0x5b) {
    while (at < bytes.length && !ENDS.has(bytes[at]!)) at++
    return at
  }
  let depth = 0
  for (;;) {
    const here = bytes[at]
    if (here === undefined) throw new Error('the value does not end')
    if (here === 0x22) {
      at = endOfString(bytes, at)
      continue
    }
    if (here === 0x7b || here === 0x5b) depth++
    if (here === 0x7d || here === 0x5d) depth--
    at++
    if (depth === 0) return at
  }
}

const ENDS: ReadonlySet<number> = new Set([0x2c, 0x7d, 0x5d, 0x20, 0x0a, 0x0d, 0x09])
