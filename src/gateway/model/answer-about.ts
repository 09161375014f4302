import type { Billing, Usage } from '#core/usage.ts'
import type { TokensOfMedia } from './cost/cost.ts'
import type { Json } from './json.ts'

/** Metadata of an answer. */
export interface AnswerAbout {
  /** The answer's ID without the surface's prefix (`chatcmpl-`, `gen-`, `msg_`), which the writers add. */
  id: string
  /** The model name shown to the client. */
  model: string
  /** Seconds since 1970. */
  created: number
  /** The provider's name; only compat-c shows it. */
  provider: string
  billing: Billing
  /** The provider whose format the reasoning has, in OpenRouter's terms; absent: unknown. */
  format?: string
  /** The client's request: some answers echo its settings. */
  request: Json
  /** Returns US dollars for this usage; null: unknown. `reported` is the provider's own figure. */
  costOf: (usage: Usage, reportedUsd: number | null, media: TokensOfMedia | undefined) => number | null
}
