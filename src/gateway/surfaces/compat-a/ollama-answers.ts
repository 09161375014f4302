import type { AnswerAbout } from '../../model/answer-about.ts'
import { isObject, type Json, listOf, objectOf, parseJson } from '../../model/json.ts'
import { withReasoningContent } from '../../wire/openai-chat/write/reasoning-fields.ts'
import type { Redraft } from '../../passthrough/redraft.ts'
import { bareErrors } from './bare-errors.ts'

const DATA = /^data:([^\n]*\{[^\n]*)$/gm

/** Ollama names these fields differently or leaves them out. */
export function ollamaAnswers(about: AnswerAbout): Redraft {
  const { events } = bareErrors(about)
  return {
    events: (bytes) =>
      Buffer.from(
        events(bytes)
          .toString()
          .replaceAll(DATA, (line, data: string) => {
            const json = parseJson(data)
            return isObject(json) && Array.isArray(json['choices']) ? `data: ${JSON.stringify(withFields(json))}` : line
          }),
      ),
    whole(bytes) {
      const json = parseJson(bytes.toString())
      return isObject(json) && Array.isArray(json['choices']) ? Buffer.from(JSON.stringify(withFields(json))) : bytes
    },
  }
}

const withFields = (json: Json): Json => ({ ...json, choices: listOf(json['choices']).map(choice) })

function choice(value: unknown): unknown {
  if (!isObject(value)) return value
  const { message, delta, ...rest } = value
  return {
    logprobs: null,
    ...rest,
    ...(message !== undefined && { message: withReasoningContent(objectOf(message), true) }),
    ...(delta !== undefined && { delta: withReasoningContent(objectOf(delta), false) }),
  }
}
