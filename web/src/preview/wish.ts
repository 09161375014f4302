import type { uk } from '../shared/api.ts'
import { typedNumber } from '../ui/text/typed-number.ts'

type Call = Parameters<(typeof uk)['ai_gateway']['routing_preview']>[0]
export type Route = Awaited<ReturnType<(typeof uk)['ai_gateway']['routing_preview']>>

export interface Wish {
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

export const anyWish: Wish = {
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

export function callOf(wish: Wish): Call {
  const [only, ignore, models] = [list(wish.only), list(wish.ignore), list(wish.models)]
  const [prompt, completion] = [figure(wish.max_input_price), figure(wish.max_output_price)]
  const provider = {
    ...(wish.sort && { sort: wish.sort }),
    ...(only.length > 0 && { only }),
    ...(ignore.length > 0 && { ignore }),
    ...((prompt !== null || completion !== null) && {
      max_price: { ...(prompt !== null && { prompt }), ...(completion !== null && { completion }) },
    }),
    ...(wish.private && { data_collection: 'deny' }),
  }
  return {
    model: wish.model.trim(),
    ...(models.length > 0 && { models }),
    shape: wish.shape,
    ...(Object.keys(provider).length > 0 && { provider }),
    input_tokens: figure(wish.input_tokens),
    max_tokens: figure(wish.max_tokens),
    tools: wish.tools,
    images: wish.images,
    seed: figure(wish.seed),
    ...(wish.workspace && { workspace_id: wish.workspace }),
  }
}

export const newSeed = (): string => String(Math.floor(Math.random() * 2 ** 32))
