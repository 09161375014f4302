// How Ollama describes a model: in its lists, on its page, and in OpenAI's list.
import { createHash } from 'node:crypto'
import type { Json } from '../vendor.ts'

export type OllamaModel = {
  /** With its tag: `llama3.2:latest`. */
  name: string
  capabilities?: string[]
  family?: string
  parameters?: string
  quantization?: string
  /** The context that the model was trained with. */
  context?: number
  /** `PARAMETER num_ctx` of its Modelfile: the served context. */
  numCtx?: number
  size?: number
  /** From its manifest; default: derived from its name. */
  digest?: string
}

const modifiedAt = '2026-05-04T17:37:44.706Z'

export const sizeOf = (model: OllamaModel): number => model.size ?? 2_019_393_189

export const digestOf = (model: OllamaModel): string =>
  model.digest ?? createHash('sha256').update(model.name).digest('hex')

export function detailsOf(model: OllamaModel): Json {
  const family = model.family ?? 'llama'
  return {
    parent_model: '',
    format: 'gguf',
    family,
    families: [family],
    parameter_size: model.parameters ?? '3.2B',
    quantization_level: model.quantization ?? 'Q4_K_M',
  }
}

export function tagOf(model: OllamaModel): Json {
  return {
    name: model.name,
    model: model.name,
    modified_at: modifiedAt,
    size: sizeOf(model),
    digest: digestOf(model),
    details: detailsOf(model),
    capabilities: model.capabilities ?? ['completion'],
  }
}

export function showOf(model: OllamaModel): Json {
  const family = model.family ?? 'llama'
  const context = model.numCtx === undefined ? [] : [`num_ctx                        ${model.numCtx}`]
  return {
    modelfile: `FROM ${model.name}`,
    parameters: ['stop                           "<|eot_id|>"', ...context].join('\n'),
    template: '{{ .Prompt }}',
    details: detailsOf(model),
    model_info: {
      'general.architecture': family,
      'general.parameter_count': 3_212_749_888,
      [`${family}.context_length`]: model.context ?? 131_072,
      [`${family}.embedding_length`]: 3072,
    },
    capabilities: model.capabilities ?? ['completion'],
    modified_at: modifiedAt,
  }
}

export function entryOf(name: string): Json {
  return { id: name, object: 'model', created: Math.floor(Date.parse(modifiedAt) / 1000), owned_by: 'library' }
}
