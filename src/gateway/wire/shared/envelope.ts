import type { CanonicalPart } from '../../model/canonical-request.ts'
import { compact, isObject, parseJson } from '../../model/json.ts'

export type Opaque = Pick<Extract<CanonicalPart, { type: 'reasoning' }>, 'signature' | 'redacted' | 'format' | 'id'>

/** Marks what is sealed as ours. The vendors' own is bare base64, which has no full stop. */
export const ENVELOPE = 'uk1.'

/** An envelope that a client keeps and sends back untouched, so that the provider it came from gets it byte for byte. */
export function sealEnvelope({
  signature,
  redacted,
  format,
  id,
}: { [K in keyof Opaque]: Opaque[K] | undefined }): string {
  const envelope = compact({ signature, redacted, format, id })
  return ENVELOPE + Buffer.from(JSON.stringify(envelope)).toString('base64url')
}

/** The other way round; null: no envelope of ours. One that was tampered with holds nothing. */
export function openEnvelope(sealed: string): Opaque | null {
  if (!sealed.startsWith(ENVELOPE)) return null
  const envelope = parseJson(Buffer.from(sealed.slice(ENVELOPE.length), 'base64url').toString('utf8'))
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
