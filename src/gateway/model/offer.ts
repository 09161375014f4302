import type { Dispatcher } from 'undici'
import type { Send } from '#packages/http-client/send.ts'
import type { Id } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'
import type { Billing } from '#core/usage.ts'
import type { MediaAbilities, MediaKind } from '../catalogue/media.ts'
import type { Pricing } from '../catalogue/model.ts'

export type TextShape = 'openai-chat' | 'openai-responses' | 'anthropic-messages' | 'gemini' | 'ollama'

export type MediaShape = 'elevenlabs' | 'deepgram' | 'replicate' | 'fal' | 'black-forest-labs' | 'stability'

export type Shape = TextShape | MediaShape

/** A provider endpoint as used by a call. Its key is only ever sent to `origin`. */
export interface ProviderEndpoint {
  id: Id
  /** Unique per owner; the platform ID of its models is `slug/id`. */
  slug: string
  name: string
  shape: Shape
  baseUrl: string
  apiKey: string | null
  headers: Readonly<Record<string, string>>
  /**
   * `byok` for the caller's own, `credits` for the instance's (including simulated ones), `free` for an auto-detected
   * Ollama.
   */
  billing: Billing
  /** As in DNS SRV records: the lowest number is tried first; `weight` distributes calls among equals. */
  priority: number
  weight: number
  preset: string | null
  /** Absent and null mean unknown. */
  dataPolicy?: DataPolicy
  /** The instance's own and auto-detected endpoints may have private addresses. */
  mayBePrivate: boolean
  /** Sends the requests that don't leave by HTTP to `baseUrl`. Path and query are still those of the shape. */
  dispatch?: Dispatch
  /** Key for the endpoint's health history: another address or key is another connection. Absent: no history. */
  connection?: Id
  workspaceId?: Id
  /** The provider was unreachable at the last check: all others are tried first. */
  away?: true
}

export interface ProviderRequest {
  model: string
  stream: boolean
}

/** Sends a request. Results and failures arrive at the handler, which applies backpressure with `controller.pause`. */
export type Dispatch = (send: Send, request: ProviderRequest, handler: Dispatcher.DispatchHandler) => void

export interface DataPolicy {
  keeps: boolean | null
  trains: boolean | null
}

export interface Offer {
  endpoint: ProviderEndpoint
  slug: string
  upstreamModel: string
  contextLength: number | null
  maxOutputTokens: number | null
  capabilities: readonly string[]
  /** The quantization of the weights, in OpenRouter's terms (`fp8`, `int4`, …); absent: unknown. */
  quantization?: string
  pricing: Pricing | null
  priceSource: string | null
  priceDate: string | null
  media?: OfferedMedia
}

export interface OfferedMedia {
  kind: MediaKind
  abilities: MediaAbilities
  /** Null: unknown. */
  pricing: Pricing | null
}

export interface MediaOffer extends Offer {
  media: OfferedMedia
}

export const isMediaOffer = (offer: Offer): offer is MediaOffer => offer.media !== undefined

const mediaOffers = new WeakMap<Offer, MediaOffer>()

/** Always the same object for the same offer. */
export function pricedForMedia(offer: MediaOffer): MediaOffer {
  const cached = mediaOffers.get(offer)
  if (cached !== undefined) return cached
  const same: MediaOffer = { ...offer, pricing: offer.media.pricing }
  mediaOffers.set(offer, same)
  return same
}

export interface ListedOffer extends Offer {
  name: string
  releasedAt: string | null
  /** ISO 8601: when it was released, or else first seen by the platform. */
  createdAt: string
  modalities: { input: readonly string[]; output: readonly string[] }
}

/** Answers from memory where this process has the data, so that the hot path doesn't wait. */
export interface Directory {
  /** A bare name may be served by several endpoints. Empty: unknown model. */
  offers(principal: Principal, model: string): readonly Offer[] | Promise<readonly Offer[]>
  models(principal: Principal): readonly ListedOffer[] | Promise<readonly ListedOffer[]>
  /** False for endpoints of a workspace that the caller has left. */
  mayUse(principal: Principal, endpoint: ProviderEndpoint): boolean
  /** Called when the endpoint is deleted, disabled, or its key can't be decrypted. */
  watch(endpoint: ProviderEndpoint, onWithdrawn: () => void): Disposable
  /** Queried at each change, to notify calls at withdrawn endpoints. */
  inUse(using: () => Iterable<EndpointUse>): void
}

export interface EndpointUse {
  endpoint: ProviderEndpoint
  /** Called when the endpoint stops serving, possibly more than once or after the call has ended. */
  gone(): void
}
