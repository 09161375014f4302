import type { Offer, ProviderEndpoint } from '../model/offer.ts'
import { asideFor, rules } from '../model/fault-rules.ts'
import type { FaultKind, UpstreamFault } from '../model/canonical-request.ts'

/** Why an offer is asked last for now. */
export interface Aside {
  kind: FaultKind
  /** By the clock of `performance.now()`. */
  until: number
}

/** The measurements of an offer in the last minutes. Null: too little to tell. */
export interface OfferStats {
  /** Milliseconds to the first byte, at a percentile between 0 and 1. */
  latency(percentile: number): number | null
  /** Output tokens a second. */
  throughput(percentile: number): number | null
  /** The share of its calls that failed, 0–1. */
  failing: number | null
  calls: number
}

/** The past as the router asks for it. */
export interface HealthView {
  /** Why its endpoint is not to be counted on, whatever it is asked for; null: as far as anybody knows it serves. */
  failing(offer: Offer): string | null
  aside(offer: Offer): Aside | null
  stats(offer: Offer): OfferStats | null
}

/** Offers in memory; the one that was not heard of for longest is forgotten. */
const REMEMBERED = 10_000
const SAMPLES = 64
const RECENT_MS = 300_000
/** The weight of what was is halved after so many calls. */
const FADE = 0.97

/** How a call of an endpoint ended. */
export type CallOutcome = { ok: true; firstByteMs: number } | { ok: false; fault: UpstreamFault }

/** The health of endpoints as all processes of the instance have learnt it. Nobody waits for it. */
export interface SharedHealth {
  /** Why an endpoint is not to be counted on; null: as far as anybody knows it serves. */
  failing(endpoint: ProviderEndpoint): string | null
  /** A call has come to its end there. `model`: the provider's name of it. */
  called(endpoint: ProviderEndpoint, outcome: CallOutcome, model: string): void
}

const nobody: SharedHealth = { failing: () => null, called: () => {} }

/** The health of providers as this process has seen it: of single models, and for a while. What lasts is shared. */
export class Health implements HealthView {
  readonly #shared: SharedHealth
  readonly #byOffer = new WeakMap<Offer, OfferHistory>()
  // An endpoint that is read again makes new offers of the same thing.
  readonly #byKey = new Map<string, OfferHistory>()
  // By the object: an endpoint that its owner has changed, a key put right, is asked again at once.
  readonly #endpoints = new WeakMap<ProviderEndpoint, Aside>()

  constructor(shared: SharedHealth = nobody) {
    this.#shared = shared
  }

  failing({ endpoint }: Offer): string | null {
    return this.#shared.failing(endpoint)
  }

  failed(offer: Offer, fault: UpstreamFault, now: number = performance.now()): void {
    this.#shared.called(offer.endpoint, { ok: false, fault }, offer.upstreamModel)
    // A computer that is away is known by its link, and asked again as soon as that is back.
    if (fault.lasts === true && offer.endpoint.dispatch !== undefined) return
    const ms = fault.affordsLess === true ? 0 : asideFor(fault)
    if (ms === 0) return
    const seen = this.#seen(offer)
    const aside = { kind: fault.kind, until: now + ms }
    seen.fail()
    if (rules[fault.kind].of === 'model') seen.aside = aside
    else this.#endpoints.set(offer.endpoint, aside)
  }

  /** `outputTokens` 0: not known. Times in milliseconds from the request's leaving. */
  succeeded(
    offer: Offer,
    firstByteMs: number,
    durationMs: number,
    outputTokens: number,
    now: number = performance.now(),
  ): void {
    const seen = this.#seen(offer)
    seen.aside = null
    seen.succeed(firstByteMs, durationMs, outputTokens, now)
    this.#endpoints.delete(offer.endpoint)
    this.#shared.called(offer.endpoint, { ok: true, firstByteMs }, offer.upstreamModel)
  }

  aside(offer: Offer, now: number = performance.now()): Aside | null {
    const own = (this.#byOffer.get(offer) ?? this.#byKey.get(keyOf(offer)))?.aside ?? null
    if (own !== null && own.until > now) return own
    const all = this.#endpoints.get(offer.endpoint)
    return all !== undefined && all.until > now ? all : null
  }

  stats(offer: Offer, now: number = performance.now()): OfferStats | null {
    const seen = this.#byOffer.get(offer) ?? this.#byKey.get(keyOf(offer))
    return seen === undefined ? null : seen.stats(now)
  }

  #seen(offer: Offer): OfferHistory {
    const known = this.#byOffer.get(offer)
    if (known !== undefined) return known
    const key = keyOf(offer)
    const seen = this.#byKey.get(key) ?? new OfferHistory()
    this.#byKey.delete(key)
    this.#byKey.set(key, seen)
    bound(this.#byKey)
    this.#byOffer.set(offer, seen)
    return seen
  }
}

function bound(map: Map<string, unknown>): void {
  if (map.size <= REMEMBERED) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}

const keyOf = ({ endpoint, upstreamModel }: Offer): string => `${endpoint.id} ${upstreamModel}`

/** The last calls of one offer, in a ring. */
class OfferHistory {
  aside: Aside | null = null
  #samples: Float64Array | null = null
  #next = 0
  #good = 0
  #bad = 0

  fail(): void {
    this.#good *= FADE
    this.#bad = this.#bad * FADE + 1
  }

  succeed(firstByteMs: number, durationMs: number, outputTokens: number, now: number): void {
    this.#good = this.#good * FADE + 1
    this.#bad *= FADE
    const samples = (this.#samples ??= new Float64Array(SAMPLES * 3))
    const at = this.#next * 3
    samples[at] = now
    samples[at + 1] = firstByteMs
    // An answer that came in one piece tells its speed only as a whole.
    const writing = durationMs - firstByteMs
    samples[at + 2] = outputTokens > 0 ? (outputTokens * 1000) / Math.max(1, writing > 50 ? writing : durationMs) : 0
    this.#next = (this.#next + 1) % SAMPLES
  }

  stats(now: number): OfferStats {
    const recent = (column: 1 | 2): number[] => {
      const found: number[] = []
      const samples = this.#samples
      if (samples !== null)
        for (let i = 0; i < samples.length; i += 3)
          if (samples[i]! > 0 && now - samples[i]! < RECENT_MS && samples[i + column]! > 0)
            found.push(samples[i + column]!)
      return found.toSorted((a, b) => a - b)
    }
    const latencies = recent(1)
    const speeds = recent(2)
    const calls = this.#good + this.#bad
    return {
      latency: (percentile) =>
        latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * percentile))] ?? null,
      // Of a speed the 99th percentile is what 99 of 100 calls reach.
      throughput: (percentile) => speeds[Math.floor(speeds.length * (1 - percentile))] ?? speeds.at(-1) ?? null,
      failing: calls === 0 ? null : this.#bad / calls,
      calls: latencies.length,
    }
  }
}
