import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartRefused } from './start-refused.ts'

/**
 * Secrets at rest: AES-256-GCM with the row ID as associated data, so a ciphertext moved to another row can't be
 * opened. Format: `v1:<key id>:<iv>:<ciphertext and tag>`, base64url. The first key encrypts, all keys decrypt.
 */
export interface Secrets {
  seal(plain: string, rowId: string): string
  open(ciphertext: string, rowId: string): string
  isStale(ciphertext: string): boolean
  /** HMAC-SHA256 with a key derived from the newest root key for this purpose. */
  sign(purpose: string, words: string): Buffer
}

/** A root key's name in ciphertexts. Reveals nothing about the key. */
export const rootKeyId = (root: string): string =>
  createHash('sha256').update(`ukiyo key id\0${root}`).digest('base64url').slice(0, 8)

export function createSecrets(rootKeys: readonly string[]): Secrets {
  const ring = rootKeys.map((root) => {
    return { id: rootKeyId(root), root, key: Buffer.from(hkdfSync('sha256', root, '', 'ukiyo secrets v1', 32)) }
  })
  const newest = ring[0]!
  return {
    seal(plain, rowId) {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', newest.key, iv).setAAD(Buffer.from(rowId))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `v1:${newest.id}:${iv.toString('base64url')}:${body.toString('base64url')}`
    },
    open(ciphertext, rowId) {
      const [form, keyId, iv, body] = ciphertext.split(':')
      const rootKey = ring.find(({ id }) => id === keyId)
      if (form !== 'v1' || !iv || !body) throw new Error('a stored secret has an unknown form')
      if (!rootKey) throw new Error(`a stored secret was sealed with key ${keyId}, which UK_SECRET_KEY does not hold`)
      const bytes = Buffer.from(body, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', rootKey.key, Buffer.from(iv, 'base64url'), { authTagLength: 16 })
      decipher.setAAD(Buffer.from(rowId)).setAuthTag(bytes.subarray(-16))
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8')
    },
    isStale: (ciphertext) => ciphertext.split(':')[1] !== newest.id,
    sign(purpose, words) {
      const key = Buffer.from(hkdfSync('sha256', newest.root, '', `ukiyo sign ${purpose}`, 32))
      return createHmac('sha256', key).update(words).digest()
    },
  }
}

const MIN_ROOT_KEY = 32

/** The configured root keys, or one generated in the data directory (mode 0600). */
export function rootKeys(configuredKeys: readonly string[], dataDir: string): string[] {
  if (configuredKeys.length > 0) return [...configuredKeys]
  const path = join(dataDir, 'secret-key')
  if (!existsSync(path)) {
    writeFileSync(`${path}.new`, randomBytes(32).toString('base64url'), { mode: 0o600, flush: true })
    renameSync(`${path}.new`, path)
  }
  chmodSync(path, 0o600)
  const key = readFileSync(path, 'utf8').trim()
  if (key.length < MIN_ROOT_KEY)
    throw new StartRefused(
      `${path} doesn’t contain a root key of at least ${MIN_ROOT_KEY} characters. Restore the correct file: without it, stored provider keys can’t be read. If you remove the file, a new key is created`,
    )
  return [key]
}
