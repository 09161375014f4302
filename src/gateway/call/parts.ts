import type { IncomingHttpHeaders } from 'node:http'
import type { Engine } from '#engine/context.ts'
import type { KeptItems } from '#engine/kept-items.ts'
import type { Metrics } from '#engine/metrics/metrics.ts'
import type { Outbound } from '#engine/http-client/outbound.ts'
import type { Id } from '#kernel/ids.ts'
import type { Authority } from '#kernel/principal.ts'
import type { UsageLookup } from './usage-lookup.ts'
import type { Directory } from '../model/offer.ts'
import type { Health } from '../routing/health.ts'
import type { GatewayRequest } from '../request.ts'
import type { CacheAffinity } from '../routing/cache-affinity.ts'

/** What the gateway is made of. What belongs to the line is handed in, because the gateway may not import it. */
export interface GatewayParts {
  engine: Pick<Engine, 'ledger' | 'log' | 'versions' | 'outside'> & { metrics: Metrics; items: KeptItems }
  authority: Pick<Authority, 'byKey' | 'onChange'>
  limits: {
    take(caller: Id, limit: 'reads' | 'inference'): Record<string, string>
    enter(caller: Id): Disposable
  }
  directory: Directory
  usageLookup: UsageLookup
  outbound: Outbound
  /** The key of a request, null without one; two that differ are refused. */
  presentedKey(headers: IncomingHttpHeaders): string | null
  /** Of `access-control-expose-headers`. */
  exposedHeaders: string
  /** The headers of the answer to a preflight request: name, value, … */
  preflightHead(methods: Iterable<string>): string[]
}

/** The parts, and what this process has seen of the providers. */
export interface Gateway extends GatewayParts {
  health: Health
  cacheAffinity: CacheAffinity
  /** Whose answers are not over. No set: those that V8 outgrew keep what was in them alive until the old generation is collected. */
  inProgress: GatewayRequest[]
}
