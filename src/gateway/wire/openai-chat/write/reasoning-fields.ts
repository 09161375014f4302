import { compact, isObject, type Json, listOf, objectOf, textOf } from '../../../model/json.ts'

export function splitReasoning(message: Json): { rest: Json; text: string; details: Json[] } {
  const { reasoning, reasoning_content: content, reasoning_details: details, ...rest } = message
  return { rest, text: textOf(content) || textOf(reasoning), details: listOf(details).filter(isObject) }
}

/** Each piece states its format. `index` is the block it belongs to. */
export function withReasoningDetails(message: Json, index: number): Json {
  const { rest, text, details } = splitReasoning(message)
  if (text === '' && details.length === 0) return rest
  const pieces = details.length > 0 ? details : [{ type: 'reasoning.text', text, index }]
  return {
    ...rest,
    ...(text !== '' && { reasoning: text }),
    reasoning_details: pieces.map((one) => ({ ...one, format: one['format'] ?? 'unknown' })),
  }
}

export const hidesReasoning = ({ reasoning, include_reasoning: include }: Json): boolean =>
  objectOf(reasoning)['exclude'] === true || include === false

export function withReasoningContent(message: Json, whole: boolean): Json {
  const { rest, text, details } = splitReasoning(message)
  return compact({
    ...rest,
    refusal: whole || rest['role'] !== undefined ? (rest['refusal'] ?? null) : rest['refusal'],
    reasoning_content: text === '' ? undefined : text,
    reasoning_details: details.length === 0 ? undefined : details,
  })
}
