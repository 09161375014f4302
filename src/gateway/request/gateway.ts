import type { Engine } from '#infra/context.ts'
import type { KeptItems } from '#infra/kept-items.ts'
import type { Metrics } from '#infra/metrics/metrics.ts'
import type { Outbound } from '#infra/http-client/outbound.ts'
import type { Refusal } from '#core/errors.ts'
import type { AdmissionParts } from '#pipeline/admit.ts'
import type { UsageLookup } from './usage-lookup.ts'
import type { Directory, EndpointUse } from '../model/offer.ts'
import type { VideoShelf } from './video-shelf.ts'
import type { Health } from '../routing/health.ts'
import type { CacheAffinity } from '../routing/cache-affinity.ts'

/** A request whose answer is not over, as the gateway keeps it until then. */
export interface OpenRequest {
  /** The request's index among those in progress; -1: it is not among them. */
  place: number
  interrupt(failure: Refusal): void
  /** The endpoints that are answering it. */
  uses(): Iterable<EndpointUse>
}

/** The parts that the gateway is made of. */
export interface GatewayParts extends AdmissionParts {
  engine: Pick<Engine, 'ledger' | 'requestLog' | 'log' | 'media' | 'versions' | 'outside'> & {
    metrics: Metrics
    items: KeptItems
  }
  directory: Directory
  usageLookup: UsageLookup
  outbound: Outbound
  /** The most bytes of media answers that have to be whole in this process, all together. */
  mediaAnswerBytes: number
  /** How often a stream is kept alive, where not as its surface says. */
  keepAliveMs: number | undefined
  /** Videos that outlive the requests of compat-a. */
  videos(): VideoShelf
  /** The value of `access-control-expose-headers`. */
  exposedHeaders: string
  /** The headers of the answer to a preflight request: name, value, … */
  preflightHead(methods: Iterable<string>): string[]
}

/** The parts, and what this process has seen of the providers. */
export interface Gateway extends GatewayParts {
  health: Health
  cacheAffinity: CacheAffinity
  /** Requests whose answers are not over. No set: those that V8 outgrew keep what was in them alive until the old generation is collected. */
  inProgress: OpenRequest[]
}
