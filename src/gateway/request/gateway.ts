import type { Engine } from '#infra/context.ts'
import type { KeptItems } from '#infra/kept-items.ts'
import type { Metrics } from '#infra/metrics/metrics.ts'
import type { Outbound } from '#packages/http-client/outbound.ts'
import type { Refusal } from '#core/errors.ts'
import type { AdmissionParts } from '#pipeline/admit.ts'
import type { UsageLookup } from './usage-lookup.ts'
import type { Directory, EndpointUse } from '../model/offer.ts'
import type { VideoShelf } from './video-shelf.ts'
import type { Health } from '../routing/health.ts'
import type { CacheAffinity } from '../routing/cache-affinity.ts'

export interface OpenRequest {
  /** The request's index among those in progress; -1: none. */
  place: number
  interrupt(failure: Refusal): void
  uses(): Iterable<EndpointUse>
}

export interface GatewayParts extends AdmissionParts {
  engine: Pick<Engine, 'ledger' | 'requestLog' | 'log' | 'media' | 'versions' | 'outside'> & {
    metrics: Metrics
    items: KeptItems
  }
  directory: Directory
  usageLookup: UsageLookup
  outbound: Outbound
  /** In total for this process. */
  mediaAnswerBytes: number
  keepAliveMs: number | undefined
  videos(): VideoShelf
  exposedHeaders: string
  /** The headers of the answer to a preflight request: name, value, … */
  preflightHead(methods: Iterable<string>): string[]
}

export interface Gateway extends GatewayParts {
  health: Health
  cacheAffinity: CacheAffinity
  /**
   * Requests in progress. Not a Set: the tables that a Set outgrew keep their entries alive in V8 until the old
   * generation is collected.
   */
  inProgress: OpenRequest[]
}
