import { createHash } from 'node:crypto'

/** float4 in network byte order, as PostgreSQL reads it. */
export function packed(vector: Float32Array): Buffer {
  const bytes = Buffer.allocUnsafe(vector.length * 4)
  for (let i = 0; i < vector.length; i++) bytes.writeFloatBE(vector[i]!, i * 4)
  return bytes
}

export function signs(vector: Float32Array): string {
  let bits = ''
  for (const value of vector) bits += value > 0 ? '1' : '0'
  return bits
}

/** Cosines of a vector and the packed ones. All need length 1 and the same model. */
export function cosines(a: Float32Array, bytes: Buffer): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const results = new Float32Array(bytes.length / (a.length * 4))
  for (let at = 0, k = 0; k < results.length; k++) {
    let sum = 0
    for (let i = 0; i < a.length; i++, at += 4) sum += a[i]! * view.getFloat32(at)
    results[k] = sum
  }
  return results
}

/** `search_space` as int8 text: one number for the vectors that a query can be compared with. */
export const spaceOf = (model: string, dimensions: number, type: string, workspaceId: string): string =>
  String(createHash('sha256').update(`${model} ${dimensions} ${type} ${workspaceId}`).digest().readBigInt64BE())
