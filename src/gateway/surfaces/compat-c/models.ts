import type { ListedOffer } from '../../model/offer.ts'
import { supportedParameters } from '../../providers/parameters.ts'
import { writePricing } from './pricing.ts'

export function writeModel(row: ListedOffer): object {
  const { slug, name, createdAt, contextLength, maxOutputTokens, modalities } = row
  return {
    id: slug,
    canonical_slug: slug,
    hugging_face_id: null,
    name,
    created: Math.floor(Date.parse(createdAt) / 1000),
    description: '',
    context_length: contextLength,
    architecture: {
      modality: `${modalities.input.join('+')}->${modalities.output.join('+')}`,
      input_modalities: modalities.input,
      output_modalities: modalities.output,
      tokenizer: 'Other',
      instruct_type: null,
    },
    pricing: writePricing(row),
    top_provider: { context_length: contextLength, max_completion_tokens: maxOutputTokens, is_moderated: false },
    per_request_limits: null,
    supported_parameters: supportedParameters(row),
    default_parameters: {},
    links: { details: `/compat-c/api/v1/models/${slug}/endpoints` },
  }
}

export const writeModels = (rows: readonly ListedOffer[]): object => ({ data: rows.map(writeModel) })
