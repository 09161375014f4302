import type { Dispatcher } from 'undici'
import type { Send } from '#infra/http-client/send.ts'
import type { Id } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'
import type { Billing } from '#core/usage.ts'
import type { MediaAbilities, MediaKind } from '../catalogue/media.ts'
import type { Pricing } from '../catalogue/model.ts'

/** Shapes in which text is asked for. OpenAI's and Gemini's serve media at the same address. */
export type TextShape = 'openai-chat' | 'openai-responses' | 'anthropic-messages' | 'gemini' | 'ollama'

/** Shapes of vendors who make or read media and write no text. */
export type MediaShape = 'elevenlabs' | 'deepgram' | 'replicate' | 'fal' | 'black-forest-labs' | 'stability'

export type Shape = TextShape | MediaShape

/** A provider endpoint as a call uses it. The key never leaves this process but to `origin`. */
export interface ProviderEndpoint {
  id: Id
  /** Unique per owner; the platform id of its models is `slug/id`. */
  slug: string
  name: string
  shape: Shape
  baseUrl: string
  /** Null where the provider takes none. */
  apiKey: string | null
  headers: Readonly<Record<string, string>>
  /** `byok` for the caller's own, `credits` for the instance's (the simulated ones too), `free` for an Ollama found by itself. */
  billing: Billing
  /**
   * The order of asking, as in DNS SRV records: the lowest number is asked first; among equals `weight` shares the
   * calls out.
   */
  priority: number
  weight: number
  preset: string | null
  /** The owner's knowledge of what becomes of prompts there; absent and null: nothing. */
  dataPolicy?: DataPolicy
  /** The instance's own endpoints, and those found by themselves, may stand on private addresses. */
  mayBePrivate: boolean
  /** Sends its requests, where they do not leave by HTTP to `baseUrl`; its path and query are those of the shape all the same. */
  dispatch?: Dispatch
  /** Under what is kept how it does: another address or key is another connection. Absent: nothing is kept. */
  connection?: Id
  /** The workspace that brought it; absent: it belongs to none. */
  workspaceId?: Id
  /** The provider could not be reached when it was looked for last: all others are asked before it. */
  away?: true
}

/** The facts of a request beside its bytes. */
export interface ProviderRequest {
  /** The provider's name of the model. */
  model: string
  stream: boolean
}

/** Sends a request. What comes of it, a failure too, arrives at the handler, which holds it up by `controller.pause`. */
export type Dispatch = (send: Send, asked: ProviderRequest, handler: Dispatcher.DispatchHandler) => void

export interface DataPolicy {
  /** Prompts are kept after the answer. */
  keeps: boolean | null
  /** Models are trained on prompts. */
  trains: boolean | null
}

/** A way to serve a model. */
export interface Offer {
  endpoint: ProviderEndpoint
  /** The platform's id, `provider/id`. */
  slug: string
  /** The provider's name of the model. */
  upstreamModel: string
  contextLength: number | null
  maxOutputTokens: number | null
  capabilities: readonly string[]
  /** The quantization of the weights, in OpenRouter's words (`fp8`, `int4`, …); absent: unknown. */
  quantization?: string
  /** The prices of conversations, embeddings and what they hold. Null: in no source. */
  pricing: Pricing | null
  priceSource: string | null
  priceDate: string | null
  /** Present where it makes or reads media. */
  media?: OfferedMedia
}

export interface OfferedMedia {
  kind: MediaKind
  abilities: MediaAbilities
  /** Null: in no source. */
  pricing: Pricing | null
}

/** An offer that the media routes can use. */
export interface MediaOffer extends Offer {
  media: OfferedMedia
}

export const isMediaOffer = (offer: Offer): offer is MediaOffer => offer.media !== undefined

const priced = new WeakMap<Offer, MediaOffer>()

/** The offer at its price for media, as the router compares it. The same object for the same offer. */
export function pricedForMedia(offer: MediaOffer): MediaOffer {
  const known = priced.get(offer)
  if (known !== undefined) return known
  const same: MediaOffer = { ...offer, pricing: offer.media.pricing }
  priced.set(offer, same)
  return same
}

/** An offer as the surfaces list it. */
export interface Listed extends Offer {
  name: string
  /** ISO 8601; null: in no source. */
  releasedAt: string | null
  /** ISO 8601: released, or as long as the platform knows it. */
  createdAt: string
  modalities: { input: readonly string[]; output: readonly string[] }
}

/**
 * The gateway's view of the areas: endpoints and models that a caller may use. Answered from memory
 * when this process has it, so that the hot path does not wait.
 */
export interface Directory {
  /** Every way to serve this model for this caller; a bare name may be served by several. Empty: unknown model. */
  offers(principal: Principal, model: string): readonly Offer[] | Promise<readonly Offer[]>
  /** Models that this caller may use, one row per `slug`. */
  models(principal: Principal): readonly Listed[] | Promise<readonly Listed[]>
  /** Whether this caller may use what the endpoint's owner has: a member who left may not. */
  mayUse(principal: Principal, endpoint: ProviderEndpoint): boolean
  /** Calls back when this endpoint, as an offer has it, no longer serves: deleted, disabled, or its key cannot be opened. */
  watch(endpoint: ProviderEndpoint, gone: () => void): Disposable
  /**
   * Tells the calls under way at endpoints that no longer serve; asked at each change which endpoints are answering.
   */
  inUse(using: () => Iterable<EndpointUse>): void
}

/** An endpoint, as an offer has it, that is answering a call. */
export interface EndpointUse {
  endpoint: ProviderEndpoint
  /** Called when the endpoint no longer serves, once or more, also when the call has ended meanwhile. */
  gone(): void
}
