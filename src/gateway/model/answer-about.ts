import type { Billing, Usage } from '#core/usage.ts'
import type { TokensOfMedia } from './cost/cost.ts'
import type { Json } from './json.ts'

export interface AnswerAbout {
  /** The answer's ID without the surface's prefix (`chatcmpl-`, `gen-`, `msg_`), which the writers add. */
  id: string
  model: string
  /** Seconds since 1970. */
  created: number
  provider: string
  billing: Billing
  /** The provider whose format the reasoning has, in OpenRouter's terms; absent: unknown. */
  format?: string
  request: Json
  /** US dollars; null: unknown. `reportedUsd` is the provider's own figure. */
  costOf: (usage: Usage, reportedUsd: number | null, media: TokensOfMedia | undefined) => number | null
}
