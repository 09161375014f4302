import { usageOf } from '#core/usage.ts'
import type { CollectedAnswer } from '../../../model/answer.ts'
import type { AnswerAbout } from '../../../model/answer-about.ts'
import { writeUrlCitation } from '../../shared/citations.ts'
import { writePictures, writeSound } from '../media.ts'
import { compact, type Json, objectOf, textOf } from '../../../model/json.ts'
import type { ChatSurface } from './errors.ts'
import { isSealed, writeClientDetails } from '../reasoning.ts'
import { hidesReasoning } from './reasoning-fields.ts'
import { writeUsage, writeUsageWithCost } from '../usage.ts'

export const answerId = (id: string, surface: ChatSurface): string =>
  surface === 'compat-a' ? `chatcmpl-${id}` : `gen-${id}`

/** The caller has already handled `error` and a missing `finish`. */
export function writeAnswer(answer: CollectedAnswer, about: AnswerAbout, surface: ChatSurface): Json {
  const { content, finish } = answer
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
  const annotations = content
    .flatMap((part) => (part.type === 'text' ? (part.citations ?? []) : []))
    .flatMap((one) => writeUrlCitation(one) ?? [])
    .map((one) => ({ type: 'url_citation', url_citation: one }))
  const sound = writeSound(answer.sound, textOf(objectOf(about.request['audio'])['format']), `audio_${about.id}`)
  const calls = content.filter((part) => part.type === 'tool_call')
  const message = compact({
    role: 'assistant',
    content: text === '' && (calls.length > 0 || sound !== null) ? null : text,
    refusal: null,
    ...(!hidesReasoning(about.request) && writeReasoning(answer, surface)),
    ...(answer.images.length > 0 && { images: writePictures(answer.images) }),
    ...(sound !== null && { audio: sound }),
    ...(annotations.length > 0 && { annotations }),
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map(({ id, name, arguments: words }) => ({
            id,
            type: 'function',
            function: { name, arguments: words },
          })),
  })
  const choice = {
    index: 0,
    message,
    logprobs: null,
    finish_reason: finish?.reason ?? 'stop',
    ...(surface === 'compat-c' && { native_finish_reason: finish?.native ?? null }),
  }
  const usage = usageOf({ ...answer.usage, images: answer.images.length })
  const media = answer.media ?? undefined
  return {
    id: answerId(about.id, surface),
    object: 'chat.completion',
    created: about.created,
    model: about.model,
    ...(surface === 'compat-c' && { provider: about.provider }),
    choices: [choice],
    usage: surface === 'compat-a' ? writeUsage(usage, media) : writeUsageWithCost(usage, answer.cost_usd, about, media),
    system_fingerprint: null,
  }
}

function writeReasoning({ content }: CollectedAnswer, surface: ChatSurface): Json {
  const parts = content.filter((part) => part.type === 'reasoning')
  if (parts.length === 0) return {}
  const text = parts.map((part) => part.text).join('')
  const details = { reasoning_details: parts.flatMap(writeClientDetails) }
  if (surface === 'compat-c') return { reasoning: text === '' ? null : text, ...details }
  // OpenAI's shape has no field for signatures; clients that send the message back unchanged return them.
  return { ...(text !== '' && { reasoning_content: text }), ...(parts.some(isSealed) && details) }
}
