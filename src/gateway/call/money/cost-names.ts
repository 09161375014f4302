import { isObject } from '../../model/json.ts'
import type { Body } from '../../model/body.ts'
import { priceNames } from '../../providers/supports.ts'
import { lookupNames } from './vendor-tools.ts'

export const countNames = ['n', 'best_of'] as const

/**
 * Limits and multipliers of the output in the APIs of Anthropic, OpenAI, Gemini, Bedrock, Ollama, llama.cpp, vLLM, TGI,
 * and Cohere. A server may accept them in addition to its shape's fields.
 */
const outputNames: readonly string[] =
  `max_tokens max_completion_tokens max_output_tokens maxOutputTokens maxTokens max_tokens_to_sample max_new_tokens
  max_gen_len max_length num_predict n_predict num_return_sequences candidateCount candidate_count num_generations
  use_beam_search num_beams beam_width`.split(/\s+/)

export const costNames: ReadonlySet<string> = new Set([...countNames, ...outputNames, ...priceNames, ...lookupNames])

/**
 * Settings objects of Ollama (`options`), TGI (`parameters`), Gemini, Bedrock, SGLang (`sampling_params`), NIM
 * (`nvext`), and proxies. No passing shape has them, so a server may read them as its own.
 */
export const settingsNames = `extra_body options parameters generationConfig generation_config generation_kwargs
  inferenceConfig inference_config inferenceParams textGenerationConfig additionalModelRequestFields
  additional_model_request_fields sampling_params sampling_parameters samplingParams model_kwargs model_params
  model_parameters extra_params extra_args llm_config config nvext vllm_xargs`.split(/\s+/)

/**
 * Returns the path of a field that may change the cost but isn't covered by the reservation: one of another API, or one
 * inside a settings object.
 */
export function uncountedIn(body: Body, coveredFields: readonly string[]): string | null {
  for (const name of outputNames) if (!coveredFields.includes(name) && (body.value(name) ?? null) !== null) return name
  for (const name of settingsNames) {
    const path = body.has(name) ? nestedIn(body.value(name), name) : null
    if (path !== null) return path
  }
  return null
}

function nestedIn(value: unknown, path: string): string | null {
  if (Array.isArray(value)) {
    for (const [i, one] of value.entries()) {
      const foundPath = nestedIn(one, `${path}.${i}`)
      if (foundPath !== null) return foundPath
    }
    return null
  }
  if (!isObject(value)) return null
  for (const [name, one] of Object.entries(value)) {
    const here = `${path}.${name}`
    const foundPath = costNames.has(name) && (one ?? null) !== null ? here : nestedIn(one, here)
    if (foundPath !== null) return foundPath
  }
  return null
}
