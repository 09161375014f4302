import { compact, isObject, type Json, listOf, objectOf, textOf } from '../../../model/json.ts'

/** A message or a delta of some server of this shape, its reasoning taken out of whatever it calls it. */
export function splitReasoning(message: Json): { rest: Json; text: string; details: Json[] } {
  const { reasoning, reasoning_content: content, reasoning_details: details, ...rest } = message
  return { rest, text: textOf(content) || textOf(reasoning), details: listOf(details).filter(isObject) }
}

/** The same as OpenRouter's clients read it: each piece says whose format it has. `index`: which block it belongs to. */
export function withReasoningDetails(message: Json, index: number): Json {
  const { rest, text, details } = splitReasoning(message)
  if (text === '' && details.length === 0) return rest
  const said = details.length > 0 ? details : [{ type: 'reasoning.text', text, index }]
  return {
    ...rest,
    ...(text !== '' && { reasoning: text }),
    reasoning_details: said.map((one) => ({ ...one, format: one['format'] ?? 'unknown' })),
  }
}

/** Whether a request of OpenRouter's kind wants to see no reasoning, however much there is of it. */
export const hidesReasoning = ({ reasoning, include_reasoning: include }: Json): boolean =>
  objectOf(reasoning)['exclude'] === true || include === false

/** As OpenAI writes it, for a server that leaves fields out: thoughts in `reasoning_content`, what there is none of null. */
export function withReasoningContent(message: Json, whole: boolean): Json {
  const { rest, text, details } = splitReasoning(message)
  return compact({
    ...rest,
    refusal: whole || rest['role'] !== undefined ? (rest['refusal'] ?? null) : rest['refusal'],
    reasoning_content: text === '' ? undefined : text,
    reasoning_details: details.length === 0 ? undefined : details,
  })
}
