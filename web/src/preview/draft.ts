import type { uk } from '../shared/api.ts'
import { typedNumber } from '../ui/text/typed-number.ts'

type Call = Parameters<(typeof uk)['ai_gateway']['routing_preview']>[0]
export type Route = Awaited<ReturnType<(typeof uk)['ai_gateway']['routing_preview']>>

export interface RequestDraft {
  model: string
  models: string
  shape: NonNullable<Call['shape']>
  input_tokens: string
  max_tokens: string
  tools: boolean
  images: boolean
  sort: '' | 'price' | 'throughput' | 'latency'
  only: string
  ignore: string
  max_input_price: string
  max_output_price: string
  private: boolean
  seed: string
  /** The workspace of the request; empty: the personal one. */
  workspace: string
}

export const emptyDraft: RequestDraft = {
  model: '',
  models: '',
  shape: 'openai-chat',
  input_tokens: '',
  max_tokens: '',
  tools: false,
  images: false,
  sort: '',
  only: '',
  ignore: '',
  max_input_price: '',
  max_output_price: '',
  private: false,
  seed: '',
  workspace: '',
}

const list = (words: string): string[] =>
  words
    .split(/[,\s]+/)
    .map((word) => word.trim())
    .filter(Boolean)

const figure = (words: string): number | null => {
  const typed = words.trim().replaceAll('_', '')
  return typed === '' ? null : typedNumber(typed)
}

export function callOf(draft: RequestDraft): Call {
  const [only, ignore, models] = [list(draft.only), list(draft.ignore), list(draft.models)]
  const [prompt, completion] = [figure(draft.max_input_price), figure(draft.max_output_price)]
  const provider = {
    ...(draft.sort && { sort: draft.sort }),
    ...(only.length > 0 && { only }),
    ...(ignore.length > 0 && { ignore }),
    ...((prompt !== null || completion !== null) && {
      max_price: { ...(prompt !== null && { prompt }), ...(completion !== null && { completion }) },
    }),
    ...(draft.private && { data_collection: 'deny' }),
  }
  return {
    model: draft.model.trim(),
    ...(models.length > 0 && { models }),
    shape: draft.shape,
    ...(Object.keys(provider).length > 0 && { provider }),
    input_tokens: figure(draft.input_tokens),
    max_tokens: figure(draft.max_tokens),
    tools: draft.tools,
    images: draft.images,
    seed: figure(draft.seed),
    ...(draft.workspace && { workspace_id: draft.workspace }),
  }
}

export const newSeed = (): string => String(Math.floor(Math.random() * 2 ** 32))
