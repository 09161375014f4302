/** Vectors as they are stored and compared. Pure. */

/** float4 in network order, as PostgreSQL and every other machine read them alike. */
export function packed(vector: Float32Array): Buffer {
  const bytes = Buffer.allocUnsafe(vector.length * 4)
  for (let i = 0; i < vector.length; i++) bytes.writeFloatBE(vector[i]!, i * 4)
  return bytes
}

/** The signs as a bit string, `1` for what is above 0. */
export function signs(vector: Float32Array): string {
  let bits = ''
  for (const value of vector) bits += value > 0 ? '1' : '0'
  return bits
}

/** The cosine of two vectors of length 1. 0 where they are not of one model. */
export function cosine(a: Float32Array, bytes: Buffer): number {
  if (bytes.length !== a.length * 4) return 0
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * view.getFloat32(i * 4)
  return sum
}
