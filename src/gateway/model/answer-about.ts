import type { Billing, Usage } from '#core/usage.ts'
import type { TokensOfMedia } from './cost/cost.ts'
import type { Json } from './json.ts'

/** The facts that an answer states of itself beside the model's words. */
export interface AnswerAbout {
  /**
   * The answer's id without the surface's prefix (`chatcmpl-`, `gen-`, `msg_`), which the writers add: the request's
   * id, say.
   */
  id: string
  /** The model as the client shall see it. */
  model: string
  /** Seconds since 1970. */
  created: number
  /** The provider's name; only compat-c shows it. */
  provider: string
  billing: Billing
  /** The provider whose format the thoughts are in, in OpenRouter's words; absent: not known. */
  format?: string
  /** The client's request: some answers tell of it what was asked. */
  request: Json
  /** US dollars for this usage, where `reported` is what the provider says, if it does; null: nobody knows. */
  costOf: (usage: Usage, reported: number | null, media: TokensOfMedia | undefined) => number | null
}
