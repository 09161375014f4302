import { usageOf } from '#core/usage.ts'
import type { AnswerPart, CollectedAnswer } from '../../../model/answer.ts'
import type { AnswerAbout } from '../../../model/answer-about.ts'
import { writeBlockCitation } from '../../shared/citations.ts'
import { argumentsObject } from '../../parts/arguments.ts'
import type { Json } from '../../../model/json.ts'
import { writeFinish } from '../finish.ts'
import { isAnthropic, sealSignature } from '../signature.ts'
import { writeUsage } from '../usage.ts'

export const answerId = (id: string): string => `msg_${id}`

/** The caller has already handled `error` and a missing `finish`. */
export function writeAnswer(answer: CollectedAnswer, about: AnswerAbout): Json {
  const { content, finish, usage } = answer
  return {
    ...emptyMessage(about, usage ? writeUsage(usage) : writeUsage(usageOf({}))),
    content: content.map(writeBlock),
    ...writeFinish(finish ?? { reason: 'stop', native: null }),
  }
}

export const emptyMessage = (about: AnswerAbout, usage: Json): Json => ({
  id: answerId(about.id),
  type: 'message',
  role: 'assistant',
  model: about.model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
  stop_details: null,
  container: null,
  diagnostics: null,
  usage,
})

function writeBlock(part: AnswerPart): Json {
  switch (part.type) {
    case 'text': {
      const citations = (part.citations ?? []).flatMap((one) => writeBlockCitation(one) ?? [])
      return { type: 'text', text: part.text, citations: citations.length > 0 ? citations : null }
    }
    case 'reasoning':
      return isAnthropic(part) && part.redacted !== undefined
        ? { type: 'redacted_thinking', data: part.redacted }
        : { type: 'thinking', thinking: part.text, signature: sealSignature(part) }
    case 'tool_call':
      return {
        type: 'tool_use',
        id: part.id,
        name: part.name,
        input: argumentsObject(part.arguments),
        caller: { type: 'direct' },
      }
  }
}
