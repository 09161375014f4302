import { Counter, type Histogram, type Registry } from 'prom-client'

export type TallyOutcome = 'succeeded' | 'failed' | 'cancelled'

/**
 * Gateway counters as plain numbers, so that calls don't wait for metrics. Converted to Prometheus format on request.
 * Labels are surfaces, outcomes, and fault kinds, all bounded by the code.
 */
export interface GatewayTallies {
  call(surface: string, outcome: TallyOutcome, firstByteMs: number | null): void
  fault(kind: string): void
  further(why: 'fallback' | 'retry' | 'hedge'): void
}

export function createGatewayTallies(registry: Registry): GatewayTallies {
  const calls = new Map<string, Record<TallyOutcome, number>>()
  const faults = new Map<string, number>()
  const further = { fallback: 0, retry: 0, hedge: 0 }
  const all = new Counter({
    name: 'uk_gateway_calls_total',
    help: 'Model calls. Each attempt counts.',
    labelNames: ['surface', 'status'] as const,
    registers: [],
    collect() {
      this.reset()
      for (const [surface, counts] of calls)
        for (const status of ['succeeded', 'failed', 'cancelled'] as const)
          this.inc({ surface, status }, counts[status])
    },
  })
  const failures = new Counter({
    name: 'uk_gateway_faults_total',
    help: 'Attempts that failed before the first byte, by kind of failure.',
    labelNames: ['kind'] as const,
    registers: [],
    collect() {
      this.reset()
      for (const [kind, count] of faults) this.inc({ kind }, count)
    },
  })
  const more = new Counter({
    name: 'uk_gateway_further_attempts_total',
    help: 'Further attempts: with another provider, with the same one, or hedged.',
    labelNames: ['why'] as const,
    registers: [],
    collect() {
      this.reset()
      for (const why of ['fallback', 'retry', 'hedge'] as const) this.inc({ why }, further[why])
    },
  })
  const firstByte = new FirstByte()
  registry.registerMetric(all)
  registry.registerMetric(failures)
  registry.registerMetric(more)
  // The registry only uses a metric's name and `get`, contrary to its types.
  registry.registerMetric(firstByte as unknown as Histogram)
  return {
    call(surface, outcome, firstByteMs) {
      const counts = calls.get(surface)
      if (counts !== undefined) counts[outcome]++
      else calls.set(surface, { succeeded: 0, failed: 0, cancelled: 0, [outcome]: 1 })
      if (firstByteMs !== null) firstByte.note(firstByteMs / 1000)
    },
    fault(kind) {
      faults.set(kind, (faults.get(kind) ?? 0) + 1)
    },
    further(why) {
      further[why]++
    },
  }
}

const NAME = 'uk_gateway_first_byte_seconds'
const HELP = 'Time from a request’s arrival to the first byte of the provider’s response.'
const BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60]

/** An allocation-free histogram: the library's `observe` creates two objects and a key. */
class FirstByte {
  readonly name = NAME
  readonly #counts = new Float64Array(BUCKETS.length)
  #sum = 0
  #count = 0

  note(seconds: number): void {
    this.#sum += seconds
    this.#count++
    for (let i = 0; i < BUCKETS.length; i++)
      if (seconds <= BUCKETS[i]!) {
        this.#counts[i]!++
        return
      }
  }

  get(): Promise<object> {
    let sum = 0
    const value = (metricName: string, count: number, le?: number | string) => ({
      metricName,
      value: count,
      labels: le === undefined ? {} : { le },
    })
    return Promise.resolve({
      name: NAME,
      help: HELP,
      type: 'histogram',
      aggregator: 'sum',
      values: [
        ...BUCKETS.map((le, i) => value(`${NAME}_bucket`, (sum += this.#counts[i]!), le)),
        value(`${NAME}_bucket`, this.#count, '+Inf'),
        value(`${NAME}_sum`, this.#sum),
        value(`${NAME}_count`, this.#count),
      ],
    })
  }
}
