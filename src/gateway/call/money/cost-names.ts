import { isObject } from '../../model/json.ts'
import type { Body } from '../../model/body.ts'
import { priceNames } from '../../providers/supports.ts'
import { lookupNames } from './vendor-tools.ts'

/** Fields whose number says how many answers are made and paid for. */
export const countNames = ['n', 'best_of'] as const

/**
 * Fields that bound or multiply the output in some API of text models: Anthropic's and OpenAI's, Gemini's and Bedrock's, those
 * of Ollama, llama.cpp, vLLM, TGI and Cohere. A server may know them beside the fields of the shape it is asked in.
 */
const outputNames: readonly string[] =
  `max_tokens max_completion_tokens max_output_tokens maxOutputTokens maxTokens max_tokens_to_sample max_new_tokens
  max_gen_len max_length num_predict n_predict num_return_sequences candidateCount candidate_count num_generations
  use_beam_search num_beams beam_width`.split(/\s+/)

/** Every name on which the cost of a call may depend. */
export const costNames: ReadonlySet<string> = new Set([...countNames, ...outputNames, ...priceNames, ...lookupNames])

/**
 * A field of the client's own bytes that may change what the call costs, and that the reservation doesn't count, by its path:
 * one of another API, or any such field inside `extra_body`. `counted`: the fields of this request that are counted.
 */
export function uncountedIn(body: Body, counted: readonly string[]): string | null {
  for (const name of outputNames) if (!counted.includes(name) && (body.value(name) ?? null) !== null) return name
  return nestedIn(body.value('extra_body'), 'extra_body')
}

function nestedIn(value: unknown, path: string): string | null {
  if (Array.isArray(value)) {
    for (const [i, one] of value.entries()) {
      const found = nestedIn(one, `${path}.${i}`)
      if (found !== null) return found
    }
    return null
  }
  if (!isObject(value)) return null
  for (const [name, one] of Object.entries(value)) {
    const here = `${path}.${name}`
    const found = costNames.has(name) && (one ?? null) !== null ? here : nestedIn(one, here)
    if (found !== null) return found
  }
  return null
}
