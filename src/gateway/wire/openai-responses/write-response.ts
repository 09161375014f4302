import { type Usage, usageOf } from '#core/usage.ts'
import type { CollectedAnswer } from '../../model/answer.ts'
import { type Problem } from '../problem.ts'
import type { AnswerAbout } from '../../model/answer-about.ts'
import type { FinishReason } from '../../model/canonical-request.ts'
import { type Json, listOf, objectOf } from '../../model/json.ts'
import { Items, pictureItem } from './write-items.ts'
import { writeUsage } from './usage.ts'

/** Echoes the client's settings and always states that nothing is stored. */
export function beginResponse({ id, model, created, request }: AnswerAbout): Json {
  const echo = (name: string, otherwise: unknown): unknown => request[name] ?? otherwise
  const text = objectOf(request['text'])
  const reasoning = objectOf(request['reasoning'])
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: echo('instructions', null),
    max_output_tokens: echo('max_output_tokens', null),
    max_tool_calls: echo('max_tool_calls', null),
    metadata: echo('metadata', {}),
    model,
    output: [],
    parallel_tool_calls: echo('parallel_tool_calls', true),
    previous_response_id: null,
    prompt_cache_key: echo('prompt_cache_key', null),
    reasoning: { effort: reasoning['effort'] ?? null, summary: reasoning['summary'] ?? null },
    safety_identifier: echo('safety_identifier', null),
    service_tier: 'default',
    store: false,
    temperature: echo('temperature', 1),
    text: { format: text['format'] ?? { type: 'text' }, verbosity: text['verbosity'] ?? 'medium' },
    tool_choice: echo('tool_choice', 'auto'),
    tools: listOf(request['tools']),
    top_logprobs: 0,
    top_p: echo('top_p', 1),
    truncation: 'disabled',
    usage: null,
    user: echo('user', null),
  }
}

export type Ending = Exclude<FinishReason, 'error'>

export const incompleteReason = (reason: Ending): string | null =>
  reason === 'length' ? 'max_output_tokens' : reason === 'content_filter' ? reason : null

export function endResponse(response: Json, reason: Ending, usage: Usage | null): Json {
  const incompleteFor = incompleteReason(reason)
  return {
    ...response,
    status: incompleteFor === null ? 'completed' : 'incomplete',
    completed_at: incompleteFor === null ? Math.floor(Date.now() / 1000) : null,
    incomplete_details: incompleteFor === null ? null : { reason: incompleteFor },
    usage: writeUsage(usage ?? usageOf({})),
  }
}

/** Error codes that OpenAI's clients react to. */
const codes: Partial<Record<Problem['kind'], string>> = {
  context_length: 'context_length_exceeded',
  rate_limited: 'rate_limit_exceeded',
  providers_limited: 'rate_limit_exceeded',
  overloaded: 'server_is_overloaded',
  bad_request: 'invalid_prompt',
  budget: 'insufficient_quota',
}

export const codeOf = ({ kind }: Problem): string => codes[kind] ?? 'server_error'

export const failResponse = (response: Json, problem: Problem, usage: Usage | null): Json => ({
  ...response,
  status: 'failed',
  error: { code: codeOf(problem), message: problem.message },
  usage: usage === null ? null : writeUsage(usage),
})

/** The caller has already handled `error` and a missing `finish`. */
export function writeAnswer(answer: CollectedAnswer, about: AnswerAbout): Json {
  const reason = answer.finish?.reason ?? 'stop'
  const items = new Items(about)
  let from = 0
  const output = answer.content.map((part) => {
    const item = items.whole(part, from)
    if (part.type === 'text') from += part.text.length
    return item
  })
  for (const source of answer.images)
    if (source.kind === 'base64') output.push(pictureItem(items.picture(), source.data))
  if (output.length === 0) output.push(items.whole({ type: 'text', text: '' }, 0))
  const last = output.at(-1)!
  if (incompleteReason(reason as Ending) !== null && last['type'] !== 'reasoning') last['status'] = 'incomplete'
  return { ...endResponse(beginResponse(about), reason as Ending, answer.usage), output }
}
