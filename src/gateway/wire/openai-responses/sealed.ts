import type { CanonicalPart } from '../../model/canonical-request.ts'
import { openEnvelope, type Opaque, sealEnvelope } from '../shared/envelope.ts'
import { compact, type Json, listOf, objectOf, textOf } from '../../model/json.ts'

type Reasoning = Extract<CanonicalPart, { type: 'reasoning' }>

export const RESPONSES_FORMAT = 'openai-responses-v1'

/**
 * The `encrypted_content` for a client: an envelope of ours around whatever the provider wants back, byte for
 * byte. Null where there is nothing to keep.
 */
export function sealReasoning({ signature, redacted, format, id }: Opaque): string | null {
  if (signature === undefined && redacted === undefined) return null
  return sealEnvelope({ signature, redacted, format, id })
}

/** A reasoning item, from a provider or sent back by a client. What is sealed and no envelope of ours is OpenAI's. */
export function readReasoning(item: Json): Reasoning {
  const sealed = textOf(item['encrypted_content'])
  const id = textOf(item['id']) || undefined
  const opaque: Opaque =
    sealed === '' ? {} : (openEnvelope(sealed) ?? compact({ redacted: sealed, format: RESPONSES_FORMAT, id }))
  return { type: 'reasoning', text: thoughtsOf(item), ...opaque }
}

/** Parts of a summary are paragraphs; open models show their thoughts as `content` instead. */
export const thoughtsOf = (item: Json): string => {
  const said = listOf(item['summary']).length > 0 ? listOf(item['summary']) : listOf(item['content'])
  return said.map((part) => textOf(objectOf(part)['text'])).join('\n\n')
}

/** The reasoning that OpenAI takes back: its own, sealed. Without the seal it would look for the item among what it stored. */
export const isOwn = ({ redacted, format }: Reasoning): boolean => redacted !== undefined && format === RESPONSES_FORMAT

export const writeReasoning = ({ text, redacted, id }: Reasoning): Json =>
  compact({
    type: 'reasoning',
    id: id?.startsWith('rs_') ? id : undefined,
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    encrypted_content: redacted,
  })
