import type { MediaKind } from '../catalogue/media.ts'
import type { ProviderEndpoint, Shape } from '../model/offer.ts'
import type { Json } from '../model/json.ts'
import type { MediaQuirks } from './media-quirks.ts'
import type { ProviderQuirks } from '../wire/shared/quirks.ts'
import type { Transport } from './transport/transport.ts'

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
 * Each fact has its source in a comment. An absent field means no known difference from the shape's own vendor; facts
 * known to be unknown are listed in `unknown`.
 */
export interface Provider extends ProviderQuirks {
  id: string
  name: string
  shape: Shape
  /** Null: every customer has a separate address. */
  baseUrl: string | null
  /** Null: depends on the server's setup. */
  needsKey: boolean | null
  /** An endpoint's own header may replace the key. */
  keyHeaders: readonly string[]
  /** Set if it isn't the shape's; null: the key itself is never sent. */
  keyHeader?: string | null
  /** True if its answers report the cost in USD. Null: no source. */
  reportsCost: boolean | null
  /** Null: the provider is queried for its models. */
  catalogue: string | null
  local: boolean
  env: string | null
  /** A path that requires a valid key, if the list of models doesn't. */
  keyCheck: string | null
  /** The end of `baseUrl` that `keyCheck` replaces, if that belongs to another API version. */
  keyCheckBeside?: string
  /** A domain whose https hosts also receive the key. */
  keyDomain?: string
  lists: boolean
  bothOpenaiShapes?: true
  /** An aggregator: routes among other providers itself. */
  relays?: true
  /** Fetches nothing from URLs in a request. */
  fetchesNothing?: true
  wraps?: true
  transport?(endpoint: ProviderEndpoint, base: string): Transport | null
  /** True if a model is only reachable by Converse, at an endpoint of the shape `anthropic-messages`. */
  converses?(upstreamModel: string): boolean
  serves?(shape: Shape, upstreamModel: string): boolean
  /** A request for a nonexistent model; null: the shape's own. */
  keyProbe?(shape: Shape, model: string): { path: string; body: object } | null
  refusedParameters?: readonly string[]
  cacheBreakpoints?: true
  thoughtsOf?(upstreamModel: string): string | undefined
  /**
   * Fields that select a price, with the values at or below the model's price; an empty list: no known
   * value. Absent: as at the shape's own vendor.
   */
  plainPrices?: Readonly<Record<string, readonly string[]>>
  /** Fields that invoke another model or a lookup at a different price than the model's. */
  pricedApart?: readonly string[]
  media?: MediaQuirks
  engine?: LocalEngine
  unknown: readonly Unknown[]
}

export type LocalEngine = ListingEngine | PagedEngine

export interface PagedEngine {
  page: { path: string; says: string; model: string }
}

export interface ListingEngine {
  /** Where it lists its models: at its base URL, or beside `/v1`. */
  list: { path: string; beside: 'base' | 'v1' }
  /** Any server may answer at this port, so a row must have the server's own mark. */
  isIts(row: Json): boolean
  read?(row: Json): { row?: Json; capabilities?: string[]; embeds?: boolean; kind?: MediaKind }
}

/** `more`: its differences from OpenAI's Chat Completions. */
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
