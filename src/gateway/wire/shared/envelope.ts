import type { CanonicalPart } from '../../model/canonical-request.ts'
import { compact, isObject, parseJson } from '../../model/json.ts'

export type Opaque = Pick<Extract<CanonicalPart, { type: 'reasoning' }>, 'signature' | 'redacted' | 'format' | 'id'>

/** Marks envelopes as ours. Vendors use bare base64, which contains no period. */
export const ENVELOPE = 'uk1.'

/** Clients send the envelope back, and the vendor receives the original byte for byte. */
export function sealEnvelope({
  signature,
  redacted,
  format,
  id,
}: { [K in keyof Opaque]: Opaque[K] | undefined }): string {
  const envelope = compact({ signature, redacted, format, id })
  return ENVELOPE + Buffer.from(JSON.stringify(envelope)).toString('base64url')
}

/** Null: not our envelope. A tampered envelope yields an empty value. */
export function openEnvelope(text: string): Opaque | null {
  if (!text.startsWith(ENVELOPE)) return null
  const envelope = parseJson(Buffer.from(text.slice(ENVELOPE.length), 'base64url').toString('utf8'))
  if (!isObject(envelope)) return {}
  const field = (name: string): string | undefined => {
    const value = envelope[name]
    return typeof value === 'string' ? value : undefined
  }
  return compact({
    signature: field('signature'),
    redacted: field('redacted'),
    format: field('format'),
    id: field('id'),
  })
}
