import type { Media } from '#packages/media-tools/media.ts'
import type { Payer } from '#infra/ledger/ledger.ts'
import type { Id } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'
import { liveConstraints } from '../call/live-constraints.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'
import { type MediaOffer, type Offer, isMediaOffer } from '../model/offer.ts'
import type { Gateway } from '../request/gateway.ts'
import { newSeed } from '../routing/router.ts'
import { isSimulated } from '../sim/offers.ts'
import type { Maker, MediaAdapter, MediaFault, MediaKind, MediaRequest, MediaWire } from './adapter.ts'
import { type AnswerPlace, AnswerRoom } from '#infra/media/answer-room.ts'
import { checkedMaker } from './checked-maker.ts'
import { type MediaDirectory, mediaCandidates } from './models.ts'
import { computerSpeech } from './own/computer-speech.ts'
import { localMedia } from './own/local.ts'
import { simulatedMedia } from './own/simulated.ts'
import { adapterOf } from './vendors/every-adapter.ts'
import { mediaWire } from './wire.ts'

export interface MediaCandidate {
  offer: MediaOffer
  seed: number
}

/** Media for callers in this process, which manage the call's life cycle themselves. */
export interface MediaGateway {
  /** At least one, best first. Refuses with `not_found`, `unsupported_model`, or `no_route`. */
  candidates(principal: Principal, payer: Payer, request: { kind: MediaKind; model: string }): Promise<MediaCandidate[]>
  /** Null: the endpoint no longer serves this caller. */
  again(principal: Principal, job: { slug: string; endpointId: Id }): Promise<MediaOffer | null>
  /** Null: unsupported kind. `account`: whose queue slots it uses on this machine. */
  makerOf<R extends MediaRequest>(offer: Offer, kind: R['kind'], account: Id): Maker<R> | null
  mostImages(offer: MediaOffer): number
  place(signal: AbortSignal): AnswerPlace
  wireTo(offer: Offer, party: string, signal: AbortSignal, place: AnswerPlace): MediaWire
  counted(surface: string, status: 'succeeded' | 'failed' | 'cancelled'): void
  succeeded(offer: Offer, durationMs: number): void
  failed(offer: Offer, fault: MediaFault): void
}

const MAX_IMAGES = 10

export function createMediaGateway(gateway: Gateway, directory: MediaDirectory, media: Media): MediaGateway {
  const { outbound, health } = gateway
  const room = new AnswerRoom(gateway.mediaAnswerBytes)

  function adapterFor(offer: Offer, account: Id): MediaAdapter {
    if (isSimulated(offer)) return simulatedMedia
    if (isOwnEngine(offer)) return localMedia(media, account)
    if (offer.endpoint.dispatch !== undefined) return computerSpeech(media, account)
    return adapterOf(offer.endpoint)
  }

  function makerOf<R extends MediaRequest>(offer: Offer, kind: R['kind'], account: Id): Maker<R> | null {
    // The kind matches the request, which the compiler can't infer through a field name.
    const maker = (adapterFor(offer, account)[kind] ?? null) as unknown as Maker<R> | null
    if (maker === null || isSimulated(offer) || isOwnEngine(offer)) return maker
    return checkedMaker(maker, offer.endpoint)
  }

  return {
    makerOf,
    async candidates(principal, payer, { kind, model }) {
      const account = principal.accountId
      const seed = newSeed()
      const constraints = liveConstraints(gateway, payer, {
        summary: { tools: false, images: false, inputTokens: null, maxTokens: null },
        seed,
        conversation: null,
        serves: (offer) => makerOf(offer, kind, account) !== null,
      })
      const candidates = await mediaCandidates(directory, health, principal, { model, kind, ...constraints })
      return candidates.map(({ offer }) => ({ offer, seed }))
    },
    async again(principal, { slug, endpointId }) {
      const offers = await directory.offers(principal, slug)
      return offers.filter(isMediaOffer).find(({ endpoint }) => endpoint.id === endpointId) ?? null
    },
    mostImages(offer) {
      const { abilities } = offer.media
      const maxFromCatalog = abilities.kind === 'image' ? abilities.max_n : null
      const maxFromAdapter = isSimulated(offer)
        ? null
        : (adapterOf(offer.endpoint).mostImages?.(offer.upstreamModel) ?? null)
      return Math.max(1, maxFromAdapter ?? maxFromCatalog ?? MAX_IMAGES)
    },
    place: (signal) => room.place(signal),
    wireTo: (offer, party, signal, place) =>
      isSimulated(offer) || isOwnEngine(offer)
        ? noWire(signal)
        : mediaWire({ outbound, endpoint: offer.endpoint, model: offer.upstreamModel, party, signal, place }),
    counted: (surface, status) => gateway.engine.metrics.gateway.call(surface, status, null),
    succeeded: (offer, durationMs) => health.succeeded(offer, durationMs, durationMs, 0),
    failed: (offer, fault) => health.failed(offer, upstreamFault(fault)),
  }
}

const noWire = (signal: AbortSignal): MediaWire => ({
  signal,
  ask: () => Promise.reject(new Error('what is made here asks nobody')),
  download: () => {
    throw new Error('what is made here is fetched from nowhere')
  },
})

/** The server's own engines, and those of computers, which are called over their connection. */
const isOwnEngine = ({ endpoint, slug }: Offer): boolean =>
  endpoint.slug === 'local' && endpoint.dispatch === undefined && /^local\/(flite|espeak-ng)$/.test(slug)

const kinds: Readonly<Record<MediaFault['kind'], UpstreamFault['kind']>> = {
  refused_content: 'bad_request',
  bad_request: 'bad_request',
  credential: 'upstream_key',
  rate_limited: 'rate_limited',
  overloaded: 'overloaded',
  unreachable: 'unreachable',
  timeout: 'timeout',
  not_found: 'model_not_found',
  bad_answer: 'garbage',
}

const upstreamFault = ({ kind, message, retryAfterSeconds }: MediaFault): UpstreamFault => ({
  kind: kinds[kind],
  message,
  ...(retryAfterSeconds !== null && { retry_after_seconds: retryAfterSeconds }),
})
