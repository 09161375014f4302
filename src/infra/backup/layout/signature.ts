import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { rootKeyId } from '#infra/secrets.ts'
import { BackupRefused } from './refused.ts'

/**
 * The signature of a manifest: HMAC-SHA256 under a key derived from the instance's newest root key. The manifest has the hash of all
 * else, so whoever can write where backups are kept, but doesn't have the root key, can't change what a restore brings back.
 */
export interface Signature {
  /** The root key that signed. */
  keyId: string
  mac: Buffer
}

const FORM = /^hmac-sha256 ([\w-]{8}) ([0-9a-f]{64})$/

const macOf = (words: string, root: string): Buffer =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', root, '', 'ukiyo backup manifest v1', 32)))
    .update(words)
    .digest()

/** The line below a manifest that signs its words. */
export const signatureOf = (words: string, root: string): string =>
  `hmac-sha256 ${rootKeyId(root)} ${macOf(words, root).toString('hex')}`

/** Null: there is none. Refuses what isn't a signature in its place. */
export function readSignature(line: string, from: string): Signature | null {
  if (line === '') return null
  const [, keyId, mac] = FORM.exec(line) ?? []
  if (keyId === undefined) throw new BackupRefused(`the signature of ${from} is damaged. Create a new backup`)
  return { keyId, mac: Buffer.from(mac!, 'hex') }
}

export type Verdict =
  | 'valid'
  /** There is no signature: an older version wrote the backup, there was no root key, or someone removed it. */
  | 'unsigned'
  /** The root key that signed isn't among these. */
  | 'unknown key'
  | 'wrong'

export function judgeSignature(words: string, signature: Signature | null, rootKeys: readonly string[]): Verdict {
  if (signature === null) return 'unsigned'
  const root = rootKeys.find((one) => rootKeyId(one) === signature.keyId)
  if (root === undefined) return 'unknown key'
  return timingSafeEqual(macOf(words, root), signature.mac) ? 'valid' : 'wrong'
}
