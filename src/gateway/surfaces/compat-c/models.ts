import type { Usd } from '../../catalogue/model.ts'
import type { Listed } from '../../directory.ts'

/** Per million → per token as a decimal string, exactly; what is in no source is `-1`, as OpenRouter writes a price that varies. */
export function perToken(price: Usd | undefined): string {
  if (price === undefined) return '-1'
  const [whole = '0', fraction = ''] = price.split('.')
  const digits = whole.padStart(7, '0') + fraction
  const point = digits.length - fraction.length - 6
  return `${digits.slice(0, point)}.${digits.slice(point)}`.replace(/^0+(?=\d)/, '').replace(/\.?0+$/, '')
}

const PARAMETERS = ['max_tokens', 'temperature', 'top_p', 'stop', 'seed']
const BY_CAPABILITY: Readonly<Record<string, readonly string[]>> = {
  tools: ['tools', 'tool_choice'],
  reasoning: ['reasoning', 'include_reasoning'],
  structured_output: ['response_format', 'structured_outputs'],
}

/** One row of OpenRouter's `GET /models`. */
export const writeModel = ({
  slug,
  name,
  releasedAt,
  contextLength,
  maxOutputTokens,
  modalities,
  capabilities,
  pricing,
}: Listed): object => ({
  id: slug,
  canonical_slug: slug,
  hugging_face_id: null,
  name,
  created: releasedAt === null ? 0 : Math.floor(Date.parse(releasedAt) / 1000),
  description: '',
  context_length: contextLength,
  architecture: {
    modality: `${modalities.input.join('+')}->${modalities.output.join('+')}`,
    input_modalities: modalities.input,
    output_modalities: modalities.output,
    tokenizer: 'Other',
    instruct_type: null,
  },
  pricing: {
    prompt: perToken(pricing?.input),
    completion: perToken(pricing?.output),
    ...(pricing?.request !== undefined && { request: pricing.request }),
    ...(pricing?.image !== undefined && { image: perToken(pricing.image) }),
    ...(pricing?.reasoning !== undefined && { internal_reasoning: perToken(pricing.reasoning) }),
    ...(pricing?.cache_read !== undefined && { input_cache_read: perToken(pricing.cache_read) }),
    ...(pricing?.cache_write_5m !== undefined && { input_cache_write: perToken(pricing.cache_write_5m) }),
  },
  top_provider: { context_length: contextLength, max_completion_tokens: maxOutputTokens, is_moderated: false },
  per_request_limits: null,
  supported_parameters: [...PARAMETERS, ...capabilities.flatMap((capability) => BY_CAPABILITY[capability] ?? [])],
  default_parameters: {},
})

export const writeModels = (rows: readonly Listed[]): object => ({ data: rows.map(writeModel) })
