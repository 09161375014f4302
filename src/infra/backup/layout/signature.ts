import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { rootKeyId } from '#infra/secrets.ts'
import { BackupRefused } from './refused.ts'

/**
 * HMAC-SHA256 of the manifest with a key derived from the newest root key. The manifest hashes everything else, so
 * write access to the backups without the root key isn't enough to alter a restore.
 */
export interface Signature {
  keyId: string
  mac: Buffer
}

const FORM = /^hmac-sha256 ([\w-]{8}) ([0-9a-f]{64})$/

const macOf = (words: string, root: string): Buffer =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', root, '', 'ukiyo backup manifest v1', 32)))
    .update(words)
    .digest()

export const signatureOf = (words: string, root: string): string =>
  `hmac-sha256 ${rootKeyId(root)} ${macOf(words, root).toString('hex')}`

/** Null if unsigned. Throws if malformed. */
export function readSignature(line: string, from: string): Signature | null {
  if (line === '') return null
  const [, keyId, mac] = FORM.exec(line) ?? []
  if (keyId === undefined) throw new BackupRefused(`the signature of ${from} is damaged. Create a new backup`)
  return { keyId, mac: Buffer.from(mac!, 'hex') }
}

export type Verdict =
  | 'valid'
  /** Unsigned: written by an older version or without a root key, or the signature was removed. */
  | 'unsigned'
  | 'unknown key'
  | 'wrong'

export function judgeSignature(words: string, signature: Signature | null, rootKeys: readonly string[]): Verdict {
  if (signature === null) return 'unsigned'
  const root = rootKeys.find((one) => rootKeyId(one) === signature.keyId)
  if (root === undefined) return 'unknown key'
  return timingSafeEqual(macOf(words, root), signature.mac) ? 'valid' : 'wrong'
}
