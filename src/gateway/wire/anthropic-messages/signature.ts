import { openEnvelope, type Opaque, sealEnvelope } from '../shared/envelope.ts'

export const ANTHROPIC_FORMAT = 'anthropic-claude-v1'

/**
 * The `signature` of a thinking block for a client of the Anthropic shape. The vendor's own passes as it is; what other
 * vendors gave, if only nothing, is put into an envelope.
 */
export function sealSignature({ signature, redacted, format, id }: Opaque): string {
  if (format === ANTHROPIC_FORMAT && signature !== undefined) return signature
  return sealEnvelope({ signature, redacted, format, id })
}

/** The other way round. A signature that is no envelope of ours is the vendor's. */
export const openSignature = (sealed: string): Opaque =>
  openEnvelope(sealed) ?? { signature: sealed, format: ANTHROPIC_FORMAT }

/** The signature that Anthropic itself takes back: its own signature or its own redacted block. */
export const isAnthropic = ({ signature, redacted, format }: Opaque): boolean =>
  format === ANTHROPIC_FORMAT && (signature !== undefined || redacted !== undefined)
