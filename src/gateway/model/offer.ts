import type { Dispatcher } from 'undici'
import type { Send } from '#infra/http-client/send.ts'
import type { Id } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'
import type { Billing } from '#core/usage.ts'
import type { MediaAbilities, MediaKind } from '../catalogue/media.ts'
import type { Pricing } from '../catalogue/model.ts'

/** Shapes for text generation. OpenAI's and Gemini's endpoints also serve media. */
export type TextShape = 'openai-chat' | 'openai-responses' | 'anthropic-messages' | 'gemini' | 'ollama'

/** Shapes of vendors that generate or read media but no text. */
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
  /** Null for providers without keys. */
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
  /** What the owner knows about the handling of prompts there; absent and null mean unknown. */
  dataPolicy?: DataPolicy
  /** The instance's own and auto-detected endpoints may have private addresses. */
  mayBePrivate: boolean
  /** Sends the requests that don't leave by HTTP to `baseUrl`. Path and query are still those of the shape. */
  dispatch?: Dispatch
  /** Key for the endpoint's health history: another address or key is another connection. Absent: no history. */
  connection?: Id
  /** The workspace that owns it; absent: none. */
  workspaceId?: Id
  /** The provider was unreachable at the last check: all others are tried first. */
  away?: true
}

/** A request without its body. */
export interface ProviderRequest {
  /** The provider's name for the model. */
  model: string
  stream: boolean
}

/** Sends a request. Results and failures arrive at the handler, which applies backpressure with `controller.pause`. */
export type Dispatch = (send: Send, request: ProviderRequest, handler: Dispatcher.DispatchHandler) => void

export interface DataPolicy {
  /** Prompts are stored after the answer. */
  keeps: boolean | null
  /** Models are trained on prompts. */
  trains: boolean | null
}

/** A way to serve a model. */
export interface Offer {
  endpoint: ProviderEndpoint
  /** The platform's ID, `provider/id`. */
  slug: string
  /** The provider's name for the model. */
  upstreamModel: string
  contextLength: number | null
  maxOutputTokens: number | null
  capabilities: readonly string[]
  /** The quantization of the weights, in OpenRouter's terms (`fp8`, `int4`, …); absent: unknown. */
  quantization?: string
  /** Prices of conversations, embeddings, and their contents. Null: unknown. */
  pricing: Pricing | null
  priceSource: string | null
  priceDate: string | null
  /** Present if the model generates or reads media. */
  media?: OfferedMedia
}

export interface OfferedMedia {
  kind: MediaKind
  abilities: MediaAbilities
  /** Null: unknown. */
  pricing: Pricing | null
}

/** An offer that the media routes can use. */
export interface MediaOffer extends Offer {
  media: OfferedMedia
}

export const isMediaOffer = (offer: Offer): offer is MediaOffer => offer.media !== undefined

const mediaOffers = new WeakMap<Offer, MediaOffer>()

/** Returns the offer at its media price, as the router compares it. Always the same object for the same offer. */
export function pricedForMedia(offer: MediaOffer): MediaOffer {
  const cached = mediaOffers.get(offer)
  if (cached !== undefined) return cached
  const same: MediaOffer = { ...offer, pricing: offer.media.pricing }
  mediaOffers.set(offer, same)
  return same
}

/** An offer as the surfaces list it. */
export interface ListedOffer extends Offer {
  name: string
  /** ISO 8601; null: unknown. */
  releasedAt: string | null
  /** ISO 8601: when it was released, or else first seen by the platform. */
  createdAt: string
  modalities: { input: readonly string[]; output: readonly string[] }
}

/**
 * The gateway's interface to endpoints and models. Answers from memory where this process has the data, so that the hot
 * path doesn't wait.
 */
export interface Directory {
  /**
   * Returns every way to serve this model for this caller. A bare name may be served by several endpoints. Empty:
   * unknown model.
   */
  offers(principal: Principal, model: string): readonly Offer[] | Promise<readonly Offer[]>
  /** Models that this caller may use, one row per `slug`. */
  models(principal: Principal): readonly ListedOffer[] | Promise<readonly ListedOffer[]>
  /** False for the endpoints of a workspace that the caller has left. */
  mayUse(principal: Principal, endpoint: ProviderEndpoint): boolean
  /** Calls back when this endpoint stops serving: deleted, disabled, or its key can't be decrypted. */
  watch(endpoint: ProviderEndpoint, onWithdrawn: () => void): Disposable
  /**
   * Registers a source of endpoints in use. It is queried at each change, and calls at withdrawn endpoints are
   * notified.
   */
  inUse(using: () => Iterable<EndpointUse>): void
}

/** An endpoint that is answering a call. */
export interface EndpointUse {
  endpoint: ProviderEndpoint
  /** Called when the endpoint stops serving, possibly more than once or after the call has ended. */
  gone(): void
}
