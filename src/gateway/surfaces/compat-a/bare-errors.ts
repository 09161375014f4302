import { readStreamFault } from '../../wire/faults/faults.ts'
import { isObject, parseJson } from '../../model/json.ts'
import { StreamWriter } from '../../wire/openai-chat/write/stream.ts'
import type { AnswerAbout } from '../../model/answer-about.ts'
import type { Redraft } from '../../passthrough/redraft.ts'

const ERROR = /^data:([^\n]*"error" ?: ?[{"][^\n]*)$/gm

/**
 * OpenRouter ends a failed stream with an error beside a choice, which OpenAI's clients take for a chunk and ignore.
 * They get only the error. Whole events in and out.
 */
export const bareErrors = (about: AnswerAbout): Redraft => ({
  events(events) {
    if (!events.includes('"error"')) return events
    const text = events.toString()
    const output = text.replaceAll(ERROR, (line, data: string) => {
      const json = parseJson(data)
      if (!isObject(json) || !json['error'] || !Array.isArray(json['choices'])) return line
      return new StreamWriter(about, 'compat-a', false).fail(readStreamFault(json['error'])).trimEnd()
    })
    return output === text ? events : Buffer.from(output)
  },
})
