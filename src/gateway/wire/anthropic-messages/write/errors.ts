import { type ErrorAnswer, type Problem, type ProblemKind, problemOf } from '../../problem.ts'
import { isWord, type Json, objectOf, textOf } from '../../../model/json.ts'

const rows: Record<ProblemKind, readonly [status: number, type: string]> = {
  bad_request: [400, 'invalid_request_error'],
  context_length: [400, 'invalid_request_error'],
  platform_key: [401, 'authentication_error'],
  budget: [402, 'billing_error'],
  forbidden: [403, 'permission_error'],
  model_not_found: [404, 'not_found_error'],
  not_found: [404, 'not_found_error'],
  conflict: [409, 'conflict_error'],
  too_large: [413, 'request_too_large'],
  unknown_coding: [501, 'invalid_request_error'],
  rate_limited: [429, 'rate_limit_error'],
  providers_limited: [429, 'rate_limit_error'],
  no_provider: [404, 'not_found_error'],
  provider_failed: [502, 'api_error'],
  overloaded: [529, 'overloaded_error'],
  timeout: [504, 'timeout_error'],
  internal: [500, 'api_error'],
}

export function writeError(failure: unknown, requestId: string | null): ErrorAnswer {
  const problem = problemOf(failure)
  return { status: rows[problem.kind][0], headers: problem.headers, body: errorEvent(problem, requestId) }
}

/** Also the data of the `error` event inside a stream. */
export const errorEvent = (problem: Problem, requestId: string | null): Json => ({
  type: 'error',
  error: { type: rows[problem.kind][1], message: sentence(problem), details: detailsOf(problem) },
  request_id: requestId,
})

/** Its SDKs react to the vendor's own details. */
const detailsOf = ({ code, details }: Problem): Json => ({
  error_code: textOf(details?.['code']) || code,
  ...objectOf(details?.['vendor']),
})

/** How providers phrase the model's token limit and the number of sent tokens. */
const LIMITS = [
  /(?:maximum (?:number of tokens allowed|context length|prompt length(?: is)?)|only supports up to|token limit|exceeds the limit of|must be <=|context window of)\D{0,4}(\d{3,})/i,
  /(?:maximum|context)[^.]*?\b(\d{3,})\s*tokens?/i,
]
const ASKED = [
  /(?:resulted in|requested|input(?: length)?(?: is| of)?|contains|has)[^.\d]*?(\d{3,})\s*tokens?/i,
  /(?:input token count(?: is)?|prompt token count of|requested|given|too long|tokens|keep the first)\D{0,4}(\d{3,})/i,
]

/** Claude Code compacts its conversation when it reads `prompt is too long`, but not for another vendor's wording. */
function sentence({ kind, message }: Problem): string {
  // In its own vendor's second sentence it reads the figures.
  if (kind !== 'context_length' || /^prompt is too long|^input length and `max_tokens` exceed/i.test(message))
    return message
  const limit = LIMITS.map((words) => words.exec(message)?.[1]).find(isWord)
  const sentTokens = ASKED.map((words) => words.exec(message)?.[1]).find(isWord)
  return limit && sentTokens && sentTokens !== limit
    ? `prompt is too long: ${sentTokens} tokens > ${limit} maximum`
    : `prompt is too long: ${message}`
}
