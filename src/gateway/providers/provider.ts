import type { MediaKind } from '../catalogue/media.ts'
import type { ProviderEndpoint, Shape } from '../model/offer.ts'
import type { Json } from '../model/json.ts'
import type { MediaQuirks } from './media-quirks.ts'
import type { ProviderQuirks } from '../wire/shared/quirks.ts'
import type { Transport } from './transport/transport.ts'

/** A fact about a provider that no source tells. Nothing is decided by it. */
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
 * The facts about a provider, each with its source: a comment beside it or above the row. A field that is absent is not
 * known to differ from what the shape's own vendor does; what is known to be unknown stands in `unknown`.
 */
export interface Provider extends ProviderQuirks {
  id: string
  name: string
  shape: Shape
  /** Null: every customer has an address of their own. */
  baseUrl: string | null
  /** Null: depends on how the server was set up. */
  needsKey: boolean | null
  /** Lower-case headers in which its API takes a credential; one of an endpoint's own may stand for the key. */
  keyHeaders: readonly string[]
  /** The header that the key is sent in, where it is not the shape's; null: the key itself is sent nowhere. */
  keyHeader?: string | null
  /** Whether its answers state what a call cost, in USD. Null: in no source. */
  reportsCost: boolean | null
  /** The provider in the catalogue whose models and prices are its own. Null: it is asked for its models. */
  catalogue: string | null
  /** Runs on hardware of one's own: its models cost 0. */
  local: boolean
  /** `<env>_API_KEY` and `<env>_BASE_URL` make it the instance's provider. */
  env: string | null
  /** Below `baseUrl`: what only answers to a valid key, where the list of models answers to anybody. */
  keyCheck: string | null
  /** The end of `baseUrl` in whose place `keyCheck` stands, where that is of another version of the API. */
  keyCheckBeside?: string
  /** A domain beside the address's own origin under which https hosts take the key as well. */
  keyDomain?: string
  /** Whether it lists its models, at the address where it serves. */
  lists: boolean
  /** Serves all its models in both of OpenAI's shapes, under one address. */
  bothOpenaiShapes?: true
  /** Routes among further providers itself, and is told the caller's constraints. */
  relays?: true
  /** Reads nothing from an address that a request names. */
  fetchesNothing?: true
  /** Puts requests of its own shape into another form on the way, where not all of their fields get. */
  wraps?: true
  /** The transport of requests to it, where they do not travel as they are. `base`: the address's path. */
  transport?(endpoint: ProviderEndpoint, base: string): Transport | null
  /** Whether one of its models is asked by Converse and no other way, at an endpoint of the shape `anthropic-messages`. */
  converses?(upstreamModel: string): boolean
  /** Whether a model of its catalogue is served in this shape; absent: all are. */
  serves?(shape: Shape, upstreamModel: string): boolean
  /** The request for a model that nobody has, to learn whether a key is taken; null: the shape's own. */
  keyProbe?(shape: Shape, model: string): { path: string; body: object } | null
  /** Parameters in OpenRouter's names that its own shape has and it refuses. */
  refusedParameters?: readonly string[]
  /** Marks for a cache as OpenRouter's clients write them have a word of its own. */
  cacheBreakpoints?: true
  /** The format in which this model's thoughts come, in OpenRouter's words. */
  thoughtsOf?(upstreamModel: string): string | undefined
  /**
   * Fields that choose a price, and their values that cost no more than the model's price says; an empty list: none that a
   * source tells of. Absent, as a field of it: as at the shape's own vendor, and `price tiers` are unknown.
   */
  plainPrices?: Readonly<Record<string, readonly string[]>>
  /** Fields with which it asks another model, or has something looked up, at another price than the model's. */
  pricedApart?: readonly string[]
  /** The differences from OpenAI in how it is asked for media; absent: none. */
  media?: MediaQuirks
  /** The way to know it among the servers of this machine. */
  engine?: LocalEngine
  unknown: readonly Unknown[]
}

/** A server that is looked for on this machine, at the port that it opens unless told otherwise. */
export type LocalEngine = ListingEngine | PagedEngine

/** Serves one model, and shows a page instead of a list. */
export interface PagedEngine {
  /** The page at its base. `says`: words that no other server's page holds; `model`: the name that it gets here. */
  page: { path: string; says: string; model: string }
}

export interface ListingEngine {
  /** The place where it lists its models: at its base, or beside `/v1`. */
  list: { path: string; beside: 'base' | 'v1' }
  /** Whether a row of the list bears its own mark. What answers may be anybody's. */
  isIts(row: Json): boolean
  /** Further facts of a row, in the words of OpenAI's list; absent: nothing. */
  read?(row: Json): { row?: Json; capabilities?: string[]; embeds?: boolean; kind?: MediaKind }
}

/** A cloud that takes OpenAI's chat and a key; `more`: how it differs. */
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

/** A server on hardware of one's own. */
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
