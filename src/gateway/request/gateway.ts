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

/** A request in progress. */
export interface OpenRequest {
  /** The request's index among those in progress; -1: none. */
  place: number
  interrupt(failure: Refusal): void
  /** The endpoints that are answering it. */
  uses(): Iterable<EndpointUse>
}

/** The gateway's dependencies. */
export interface GatewayParts extends AdmissionParts {
  engine: Pick<Engine, 'ledger' | 'requestLog' | 'log' | 'media' | 'versions' | 'outside'> & {
    metrics: Metrics
    items: KeptItems
  }
  directory: Directory
  usageLookup: UsageLookup
  outbound: Outbound
  /** Maximum bytes of media answers buffered in this process, in total. */
  mediaAnswerBytes: number
  /** Overrides the surface's keep-alive interval. */
  keepAliveMs: number | undefined
  /** Videos that outlive the requests of compat-a. */
  videos(): VideoShelf
  /** The value of `access-control-expose-headers`. */
  exposedHeaders: string
  /** The headers of the answer to a preflight request: name, value, … */
  preflightHead(methods: Iterable<string>): string[]
}

/** The dependencies, plus this process's knowledge about providers. */
export interface Gateway extends GatewayParts {
  health: Health
  cacheAffinity: CacheAffinity
  /**
   * Requests in progress. Not a Set: the tables that a Set outgrew keep their entries alive in V8 until the old
   * generation is collected.
   */
  inProgress: OpenRequest[]
}
