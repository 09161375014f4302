import type { MediaKind } from '../catalogue/media.ts'
import type { ProviderEndpoint, Shape } from '../model/offer.ts'
import type { Json } from '../model/json.ts'
import type { MediaQuirks } from './media-quirks.ts'
import type { ProviderQuirks } from '../wire/shared/quirks.ts'
import type { Transport } from './transport/transport.ts'

/** A fact about a provider without a source. No decision depends on it. */
export type Unknown =
  | 'reportsCost'
  | 'needsKey'
  | 'refused fields'
  | 'price tiers'
  | 'efforts of unnamed models'
  | 'differences from OpenAI'
  | 'betas taken'
  | 'api-versions with max_completion_tokens'
  | 'thinking through Converse'
  | 'key check'
  | 'list of models'

/**
 * The facts about a provider, each with its source in a comment. An absent field means no known difference from the
 * shape's own vendor; facts known to be unknown are listed in `unknown`.
 */
export interface Provider extends ProviderQuirks {
  id: string
  name: string
  shape: Shape
  /** Null: every customer has a separate address. */
  baseUrl: string | null
  /** Null: depends on the server's setup. */
  needsKey: boolean | null
  /** Lower-case headers for credentials; an endpoint's own header may replace the key. */
  keyHeaders: readonly string[]
  /** The header for the key, if it isn't the shape's; null: the key itself is never sent. */
  keyHeader?: string | null
  /** True if its answers report the cost in USD. Null: no source. */
  reportsCost: boolean | null
  /** The provider in the catalog with its models and prices. Null: it is queried for its models. */
  catalogue: string | null
  /** Runs on the operator's hardware: its models cost 0. */
  local: boolean
  /** `<env>_API_KEY` and `<env>_BASE_URL` make it the instance's provider. */
  env: string | null
  /** Relative to `baseUrl`: a path that requires a valid key, if the list of models doesn't. */
  keyCheck: string | null
  /** The end of `baseUrl` that `keyCheck` replaces, if that belongs to another API version. */
  keyCheckBeside?: string
  /** A domain whose https hosts also receive the key, besides the address's own origin. */
  keyDomain?: string
  /** True if it lists its models at the address where it serves. */
  lists: boolean
  /** Serves all its models in both of OpenAI's shapes under one address. */
  bothOpenaiShapes?: true
  /** An aggregator: routes among other providers itself, and receives the caller's constraints. */
  relays?: true
  /** Fetches nothing from URLs in a request. */
  fetchesNothing?: true
  /** Converts requests of its own shape to another format, which drops some fields. */
  wraps?: true
  /** The transport for its requests, if they aren't sent unchanged. `base` is the address's path. */
  transport?(endpoint: ProviderEndpoint, base: string): Transport | null
  /** True if a model is only reachable by Converse, at an endpoint of the shape `anthropic-messages`. */
  converses?(upstreamModel: string): boolean
  /** True if a catalog model is served in this shape; absent: all are. */
  serves?(shape: Shape, upstreamModel: string): boolean
  /** A request for a nonexistent model, to check a key; null: the shape's own. */
  keyProbe?(shape: Shape, model: string): { path: string; body: object } | null
  /** Parameters in OpenRouter's names that its own shape has but the provider rejects. */
  refusedParameters?: readonly string[]
  /** Cache marks in OpenRouter's format have their own field. */
  cacheBreakpoints?: true
  /** The reasoning format of this model, in OpenRouter's terms. */
  thoughtsOf?(upstreamModel: string): string | undefined
  /**
   * Fields that select a price, with the values that cost no more than the model's price; an empty list: no known
   * value. Absent, whole or per field: as at the shape's own vendor, and `price tiers` are unknown.
   */
  plainPrices?: Readonly<Record<string, readonly string[]>>
  /** Fields that invoke another model or a lookup at a different price than the model's. */
  pricedApart?: readonly string[]
  /** How its media requests differ from OpenAI's; absent: not at all. */
  media?: MediaQuirks
  /** How to recognize it among the servers on this machine. */
  engine?: LocalEngine
  unknown: readonly Unknown[]
}

/** A server that is detected on this machine, at its default port. */
export type LocalEngine = ListingEngine | PagedEngine

/** Serves one model, and has a page instead of a list. */
export interface PagedEngine {
  /** The page at its base URL. `says`: text that no other server's page contains; `model`: the model's name here. */
  page: { path: string; says: string; model: string }
}

export interface ListingEngine {
  /** Where it lists its models: at its base URL, or beside `/v1`. */
  list: { path: string; beside: 'base' | 'v1' }
  /** True if a row of the list has the server's own mark. Any server may answer at this port. */
  isIts(row: Json): boolean
  /** Additional facts of a row, in the terms of OpenAI's list; absent: none. */
  read?(row: Json): { row?: Json; capabilities?: string[]; embeds?: boolean; kind?: MediaKind }
}

/** A cloud that speaks OpenAI's Chat Completions and takes a key; `more`: its differences. */
export const cloud = (
  id: string,
  name: string,
  env: string,
  baseUrl: string | null,
  more: Partial<Provider> & Pick<Provider, 'unknown'>,
): Provider => ({
  id,
  name,
  shape: 'openai-chat',
  baseUrl,
  needsKey: true,
  keyHeaders: ['authorization'],
  reportsCost: null,
  catalogue: id,
  local: false,
  env,
  keyCheck: null,
  lists: true,
  ...more,
})

/** A server on the operator's own hardware. */
export const local = (
  id: string,
  name: string,
  baseUrl: string,
  more: Partial<Provider> & Pick<Provider, 'unknown'>,
): Provider => ({
  ...cloud(id, name, '', baseUrl, { unknown: [] }),
  env: null,
  needsKey: null,
  catalogue: null,
  local: true,
  ...more,
})
