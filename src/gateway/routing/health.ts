import type { Offer, ProviderEndpoint } from '../model/offer.ts'
import { asideFor, rules } from '../model/fault-rules.ts'
import type { FaultKind, UpstreamFault } from '../model/canonical-request.ts'

export interface Aside {
  kind: FaultKind
  /** On the clock of `performance.now()`. */
  until: number
}

/** Covers the last minutes. Null: too few calls to tell. */
export interface OfferStats {
  latency(percentile: number): number | null
  throughput(percentile: number): number | null
  failing: number | null
  calls: number
}

export interface HealthView {
  failing(offer: Offer): string | null
  aside(offer: Offer): Aside | null
  stats(offer: Offer): OfferStats | null
}

const REMEMBERED = 10_000
const SAMPLES = 64
const RECENT_MS = 300_000
/** Decay of past results per call. */
const FADE = 0.97

export type CallOutcome = { ok: true; firstByteMs: number } | { ok: false; fault: UpstreamFault }

export interface SharedHealth {
  failing(endpoint: ProviderEndpoint): string | null
  called(endpoint: ProviderEndpoint, outcome: CallOutcome, model: string): void
}

const nobody: SharedHealth = { failing: () => null, called: () => {} }

/** Provider health as seen by this process: per model, and temporary. Lasting problems are shared. */
export class Health implements HealthView {
  readonly #shared: SharedHealth
  readonly #byOffer = new WeakMap<Offer, OfferHistory>()
  // A reloaded endpoint creates new offer objects for the same model.
  readonly #byKey = new Map<string, OfferHistory>()
  // Keyed by object: an endpoint that its owner changed, for example with a new key, is tried again at once.
  readonly #endpoints = new WeakMap<ProviderEndpoint, Aside>()

  constructor(sharedHealth: SharedHealth = nobody) {
    this.#shared = sharedHealth
  }

  failing({ endpoint }: Offer): string | null {
    return this.#shared.failing(endpoint)
  }

  failed(offer: Offer, fault: UpstreamFault, now: number = performance.now()): void {
    this.#shared.called(offer.endpoint, { ok: false, fault }, offer.upstreamModel)
    // Its connection shows whether a computer is online.
    if (fault.lasts === true && offer.endpoint.dispatch !== undefined) return
    const ms = fault.affordsLess === true ? 0 : asideFor(fault)
    if (ms === 0) return
    const history = this.#seen(offer)
    const aside = { kind: fault.kind, until: now + ms }
    history.fail()
    if (rules[fault.kind].of === 'model') history.aside = aside
    else this.#endpoints.set(offer.endpoint, aside)
  }

  /** `outputTokens` 0: unknown. Times in milliseconds since the request was sent. */
  succeeded(
    offer: Offer,
    firstByteMs: number,
    durationMs: number,
    outputTokens: number,
    now: number = performance.now(),
  ): void {
    const history = this.#seen(offer)
    history.aside = null
    history.succeed(firstByteMs, durationMs, outputTokens, now)
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
    const history = this.#byOffer.get(offer) ?? this.#byKey.get(keyOf(offer))
    return history === undefined ? null : history.stats(now)
  }

  #seen(offer: Offer): OfferHistory {
    const existing = this.#byOffer.get(offer)
    if (existing !== undefined) return existing
    const key = keyOf(offer)
    const history = this.#byKey.get(key) ?? new OfferHistory()
    this.#byKey.delete(key)
    this.#byKey.set(key, history)
    limitSize(this.#byKey)
    this.#byOffer.set(offer, history)
    return history
  }
}

function limitSize(map: Map<string, unknown>): void {
  if (map.size <= REMEMBERED) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}

const keyOf = ({ endpoint, upstreamModel }: Offer): string => `${endpoint.id} ${upstreamModel}`

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
    // For an answer in one piece only the total speed is known.
    const writing = durationMs - firstByteMs
    samples[at + 2] = outputTokens > 0 ? (outputTokens * 1000) / Math.max(1, writing > 50 ? writing : durationMs) : 0
    this.#next = (this.#next + 1) % SAMPLES
  }

  stats(now: number): OfferStats {
    const recent = (column: 1 | 2): number[] => {
      const values: number[] = []
      const samples = this.#samples
      if (samples !== null)
        for (let i = 0; i < samples.length; i += 3)
          if (samples[i]! > 0 && now - samples[i]! < RECENT_MS && samples[i + column]! > 0)
            values.push(samples[i + column]!)
      return values.toSorted((a, b) => a - b)
    }
    const latencies = recent(1)
    const speeds = recent(2)
    const calls = this.#good + this.#bad
    return {
      latency: (percentile) =>
        latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * percentile))] ?? null,
      // For speeds, the 99th percentile is what 99 of 100 calls reach.
      throughput: (percentile) => speeds[Math.floor(speeds.length * (1 - percentile))] ?? speeds.at(-1) ?? null,
      failing: calls === 0 ? null : this.#bad / calls,
      calls: latencies.length,
    }
  }
}
