import type { CanonicalPart } from '../../model/canonical-request.ts'
import { compact, type Json, listOf, objectOf, textOf } from '../../model/json.ts'
import { openEnvelope, sealEnvelope } from '../shared/envelope.ts'

type Reasoning = Extract<CanonicalPart, { type: 'reasoning' }>

/** `reasoning_details` as parts: the pieces of one block (same index, same id) are joined, what is opaque stays opaque. */
export function readDetails(details: unknown): Reasoning[] {
  const parts: Reasoning[] = []
  let last: { key: string; part: Reasoning } | null = null
  for (const given of listOf(details)) {
    const piece = pieceOf(given)
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

/** The formats that OpenRouter's clients know; they fail on others, and take none for Anthropic's. */
const formats = [
  'anthropic-claude-v1',
  'openai-responses-v1',
  'azure-openai-responses-v1',
  'xai-responses-v1',
  'google-gemini-v1',
]

export type Piece = Omit<Reasoning, 'type'> & { key: string }

/** One entry of `reasoning_details`; `key` tells which block it belongs to. Null for kinds without reasoning in them. */
export function pieceOf(given: unknown): Piece | null {
  const detail = objectOf(given)
  const type = textOf(detail['type'])
  const about = compact({
    format: formats.find((format) => format === detail['format']),
    id: textOf(detail['id']) || undefined,
  })
  const opened = openEnvelope(textOf(detail[type === 'reasoning.encrypted' ? 'data' : 'signature']))
  const kind = type === 'reasoning.encrypted' ? 'encrypted' : 'text'
  const key = `${kind} ${typeof detail['index'] === 'number' ? detail['index'] : ''}`
  if (opened !== null) return { key, text: textOf(detail['text']), ...opened }
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

/** Whether its vendor wants it back as it is. */
export const isSealed = ({ signature, redacted }: Pick<Reasoning, 'signature' | 'redacted'>): boolean =>
  signature !== undefined || redacted !== undefined

/** A part as OpenRouter writes it: text with its signature, what is opaque, or both, under one index. */
export function writeDetails(
  { text, signature, redacted, format, id }: Omit<Reasoning, 'type'>,
  index: number,
): Json[] {
  const about = {
    ...(id !== undefined && { id }),
    format: formats.find((known) => known === format) ?? 'unknown',
    index,
  }
  const details: Json[] = []
  if (text !== '' || signature !== undefined || redacted === undefined) {
    details.push(compact({ type: 'reasoning.text', text, signature, ...about }))
  }
  if (redacted !== undefined) details.push({ type: 'reasoning.encrypted', data: redacted, ...about })
  return details
}

/** The same for a client: what is opaque in a format that OpenRouter has no word for goes into an envelope, which keeps the word. */
export const writeClientDetails = (part: Omit<Reasoning, 'type'>, index: number): Json[] =>
  writeDetails(isSealed(part) && !formats.includes(part.format ?? '') ? enveloped(part) : part, index)

function enveloped({ text, signature, redacted, format, id }: Omit<Reasoning, 'type'>): Omit<Reasoning, 'type'> {
  const sealed = sealEnvelope({ signature, redacted, format, id })
  return compact({ text, id, ...(signature === undefined ? { redacted: sealed } : { signature: sealed }) })
}

/** A piece of the text in a stream, in the format that the entry which ends the block will have: clients keep the first they see. */
export const writeTextDetail = (text: string, index: number, format: string | undefined): Json =>
  compact({ type: 'reasoning.text', text, format, index })
