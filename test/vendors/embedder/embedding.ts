// A unit vector that depends only on the text.
import { createHash } from 'node:crypto'

export function vectorOf(text: unknown, size: number): Float32Array<ArrayBuffer> {
  const seed = createHash('sha256').update(JSON.stringify(text)).digest()
  let state = seed.readUInt32LE(0)
  const raw = Array.from({ length: size }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  })
  const length = Math.hypot(...raw) || 1
  return Float32Array.from(raw, (part) => part / length)
}
