import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import type { Secrets } from '#infra/secrets.ts'
import type { Id } from '#core/ids.ts'

/**
 * The `id:` of an event: the log and a position in it, valid for every channel because all changes have one order.
 * Encrypted (one block), because it counts events of the whole instance.
 */
export interface Positions {
  encode(seq: bigint): string
  decode(words: string): bigint | null
}

export function createPositions(secrets: Secrets, logEpoch: Id): Positions {
  const key = secrets.sign('realtime positions', '')
  const mark = createHash('sha256').update(logEpoch).digest().readBigUInt64BE()
  return {
    encode(seq) {
      const block = Buffer.alloc(16)
      block.writeBigUInt64BE(mark, 0)
      block.writeBigUInt64BE(seq, 8)
      return createCipheriv('aes-256-ecb', key, null).setAutoPadding(false).update(block).toString('base64url')
    },
    decode(words) {
      const block = Buffer.from(words, 'base64url')
      if (block.length !== 16) return null
      const decrypted = createDecipheriv('aes-256-ecb', key, null).setAutoPadding(false).update(block)
      return decrypted.readBigUInt64BE(0) === mark ? decrypted.readBigUInt64BE(8) : null
    },
  }
}
