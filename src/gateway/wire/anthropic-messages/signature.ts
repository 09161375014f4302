import { openEnvelope, type Opaque, sealEnvelope } from '../shared/envelope.ts'

export const ANTHROPIC_FORMAT = 'anthropic-claude-v1'

/** The vendor's own signature passes unchanged; other vendors' data, even if empty, goes into an envelope. */
export function sealSignature({ signature, redacted, format, id }: Opaque): string {
  if (format === ANTHROPIC_FORMAT && signature !== undefined) return signature
  return sealEnvelope({ signature, redacted, format, id })
}

/** A signature that isn't our envelope is the vendor's. */
export const openSignature = (signature: string): Opaque =>
  openEnvelope(signature) ?? { signature, format: ANTHROPIC_FORMAT }

/** Anthropic takes back its own signatures and redacted blocks. */
export const isAnthropic = ({ signature, redacted, format }: Opaque): boolean =>
  format === ANTHROPIC_FORMAT && (signature !== undefined || redacted !== undefined)
