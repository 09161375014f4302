import type { CanonicalPart } from '../../model/canonical-request.ts'
import { compact, type Json, listOf, objectOf, textOf } from '../../model/json.ts'
import { openEnvelope, sealEnvelope } from '../shared/envelope.ts'

type Reasoning = Extract<CanonicalPart, { type: 'reasoning' }>

/** Joins the pieces of one block (same index, same ID); opaque data stays opaque. */
export function readDetails(details: unknown): Reasoning[] {
  const parts: Reasoning[] = []
  let last: { key: string; part: Reasoning } | null = null
  for (const value of listOf(details)) {
    const piece = pieceOf(value)
    if (!piece) continue
    const { key, ...fields } = piece
    if (last && last.key === key && fields.redacted === undefined && last.part.signature === undefined) {
      Object.assign(last.part, fields, { text: last.part.text + fields.text })
      continue
    }
    const part: Reasoning = { type: 'reasoning', ...fields }
    parts.push(part)
    last = { key, part }
  }
  return parts
}

/** The formats that OpenRouter's clients know. They fail on others, and expect none for Anthropic's. */
const formats = [
  'anthropic-claude-v1',
  'openai-responses-v1',
  'azure-openai-responses-v1',
  'xai-responses-v1',
  'google-gemini-v1',
]

export type Piece = Omit<Reasoning, 'type'> & { key: string }

/** `key` identifies the block. Null for types without reasoning. */
export function pieceOf(value: unknown): Piece | null {
  const detail = objectOf(value)
  const type = textOf(detail['type'])
  const about = compact({
    format: formats.find((format) => format === detail['format']),
    id: textOf(detail['id']) || undefined,
  })
  const envelope = openEnvelope(textOf(detail[type === 'reasoning.encrypted' ? 'data' : 'signature']))
  const kind = type === 'reasoning.encrypted' ? 'encrypted' : 'text'
  const key = `${kind} ${typeof detail['index'] === 'number' ? detail['index'] : ''}`
  if (envelope !== null) return { key, text: textOf(detail['text']), ...envelope }
  if (type === 'reasoning.text') {
    return {
      key,
      text: textOf(detail['text']),
      ...compact({ signature: textOf(detail['signature']) || undefined }),
      ...about,
    }
  }
  if (type === 'reasoning.summary') return { key, text: textOf(detail['summary']), ...about }
  if (type === 'reasoning.encrypted') return { key, text: '', redacted: textOf(detail['data']), ...about }
  return null
}

export const isSealed = ({ signature, redacted }: Pick<Reasoning, 'signature' | 'redacted'>): boolean =>
  signature !== undefined || redacted !== undefined

/** Under one index: text with its signature, opaque data, or both. */
export function writeDetails(
  { text, signature, redacted, format, id }: Omit<Reasoning, 'type'>,
  index: number,
): Json[] {
  const about = {
    ...(id !== undefined && { id }),
    format: formats.find((one) => one === format) ?? 'unknown',
    index,
  }
  const details: Json[] = []
  if (text !== '' || signature !== undefined || redacted === undefined) {
    details.push(compact({ type: 'reasoning.text', text, signature, ...about }))
  }
  if (redacted !== undefined) details.push({ type: 'reasoning.encrypted', data: redacted, ...about })
  return details
}

/** Opaque data in a format that OpenRouter doesn't know goes into an envelope, which keeps the format's name. */
export const writeClientDetails = (part: Omit<Reasoning, 'type'>, index: number): Json[] =>
  writeDetails(isSealed(part) && !formats.includes(part.format ?? '') ? inEnvelope(part) : part, index)

function inEnvelope({ text, signature, redacted, format, id }: Omit<Reasoning, 'type'>): Omit<Reasoning, 'type'> {
  const envelope = sealEnvelope({ signature, redacted, format, id })
  return compact({ text, id, ...(signature === undefined ? { redacted: envelope } : { signature: envelope }) })
}

/** Clients keep the first format, so it must be the one of the block's final entry. */
export const writeTextDetail = (text: string, index: number, format: string | undefined): Json =>
  compact({ type: 'reasoning.text', text, format, index })
