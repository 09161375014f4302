import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'
import { BackupRefused } from './refused.ts'

/** Root keys encrypted with a passphrase: scrypt (RFC 7914) and AES-256-GCM. */
export interface SealedKeys {
  n: number
  r: number
  p: number
  salt: string
  iv: string
  body: string
}

/** 64 MB and a tenth of a second per guess. */
const COST = { n: 65_536, r: 8, p: 1 }
/** An upper limit, because a manifest is untrusted input. */
const MAX_N = 1 << 20
const MIN_PASSPHRASE = 12

export function checkPassphrase(passphrase: string): string {
  if (passphrase.length >= MIN_PASSPHRASE) return passphrase
  throw new BackupRefused(`the passphrase must have at least ${MIN_PASSPHRASE} characters`)
}

const keyOf = (passphrase: string, salt: Buffer, { n, r, p }: Pick<SealedKeys, 'n' | 'r' | 'p'>): Buffer =>
  scryptSync(passphrase.normalize('NFC'), salt, 32, { N: n, r, p, maxmem: 256 * n * r })

export function sealKeys(keys: readonly string[], passphrase: string): SealedKeys {
  const [salt, iv] = [randomBytes(16), randomBytes(12)]
  const cipher = createCipheriv('aes-256-gcm', keyOf(checkPassphrase(passphrase), salt, COST), iv)
  const body = Buffer.concat([cipher.update(JSON.stringify(keys)), cipher.final(), cipher.getAuthTag()])
  return { ...COST, salt: salt.toString('base64'), iv: iv.toString('base64'), body: body.toString('base64') }
}

export function openKeys(sealedKeys: SealedKeys, passphrase: string): string[] {
  const { n, r, p } = sealedKeys
  if (n > MAX_N || r > 32 || p > 16) throw new BackupRefused('the root key in this backup requires too much memory')
  const body = Buffer.from(sealedKeys.body, 'base64')
  const key = keyOf(passphrase, Buffer.from(sealedKeys.salt, 'base64'), sealedKeys)
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(sealedKeys.iv, 'base64'), { authTagLength: 16 })
  try {
    const plain = Buffer.concat([
      decipher.setAuthTag(body.subarray(-16)).update(body.subarray(0, -16)),
      decipher.final(),
    ])
    return JSON.parse(plain.toString('utf8')) as string[]
  } catch {
    throw new BackupRefused('the passphrase of this backup’s root key is wrong')
  }
}
