import type { TurnPart } from '../../turn.ts'
import { compact, isObject, parseJson } from '../json.ts'

type Opaque = Pick<Extract<TurnPart, { type: 'reasoning' }>, 'signature' | 'redacted' | 'format' | 'id'>

export const ANTHROPIC_FORMAT = 'anthropic-claude-v1'
/** Marks a signature as an envelope of ours. Anthropic's own are bare base64, which has no full stop. */
const MARK = 'uk1.'

/**
 * The `signature` of a thinking block for a client of the Anthropic shape. The vendor's own passes as it is; what other
 * vendors gave, if only nothing, is put into an envelope that the client sends back untouched, so that the provider it
 * came from gets it byte for byte.
 */
export function sealSignature({ signature, redacted, format, id }: Opaque): string {
  if (format === ANTHROPIC_FORMAT && signature !== undefined) return signature
  const envelope = compact({ signature, redacted, format, id })
  return MARK + Buffer.from(JSON.stringify(envelope)).toString('base64url')
}

/** The other way round. A signature that is no envelope of ours is the vendor's. */
export function openSignature(sealed: string): Opaque {
  if (!sealed.startsWith(MARK)) return { signature: sealed, format: ANTHROPIC_FORMAT }
  const envelope = parseJson(Buffer.from(sealed.slice(MARK.length), 'base64url').toString('utf8'))
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

/** What Anthropic itself takes back: its own signature or its own redacted block. */
export const isAnthropic = ({ signature, redacted, format }: Opaque): boolean =>
  format === ANTHROPIC_FORMAT && (signature !== undefined || redacted !== undefined)
