import type { CanonicalPart } from '../../model/canonical-request.ts'
import { openEnvelope, type Opaque, sealEnvelope } from '../shared/envelope.ts'
import { compact, type Json, listOf, objectOf, textOf } from '../../model/json.ts'

type Reasoning = Extract<CanonicalPart, { type: 'reasoning' }>

export const RESPONSES_FORMAT = 'openai-responses-v1'

/** Our envelope around what the provider wants back, byte for byte. Null: nothing to keep. */
export function sealReasoning({ signature, redacted, format, id }: Opaque): string | null {
  if (signature === undefined && redacted === undefined) return null
  return sealEnvelope({ signature, redacted, format, id })
}

/** Sealed content that isn't our envelope is OpenAI's. */
export function readReasoning(item: Json): Reasoning {
  const encrypted = textOf(item['encrypted_content'])
  const id = textOf(item['id']) || undefined
  const opaque: Opaque =
    encrypted === '' ? {} : (openEnvelope(encrypted) ?? compact({ redacted: encrypted, format: RESPONSES_FORMAT, id }))
  return { type: 'reasoning', text: thoughtsOf(item), ...opaque }
}

/** Parts of a summary are paragraphs. Open models put their reasoning into `content` instead. */
export const thoughtsOf = (item: Json): string => {
  const parts = listOf(item['summary']).length > 0 ? listOf(item['summary']) : listOf(item['content'])
  return parts.map((part) => textOf(objectOf(part)['text'])).join('\n\n')
}

/** OpenAI takes back its own, sealed. Without the seal it would look for the item in its storage. */
export const isOwn = ({ redacted, format }: Reasoning): boolean => redacted !== undefined && format === RESPONSES_FORMAT

export const writeReasoning = ({ text, redacted, id }: Reasoning): Json =>
  compact({
    type: 'reasoning',
    id: id?.startsWith('rs_') ? id : undefined,
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    encrypted_content: redacted,
  })
