import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

/** What `/metrics` shows, in the Prometheus text form. Label values are endpoint names and statuses, never ids. */
export interface Metrics {
  registry: Registry
  request(endpoint: string, status: number, seconds: number): void
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'uk_' })
  const requests = new Counter({
    name: 'uk_http_requests_total',
    help: 'Requests answered.',
    labelNames: ['endpoint', 'status'] as const,
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'uk_http_request_seconds',
    help: 'Time from the head of a request to the end of its answer.',
    labelNames: ['endpoint'] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers: [registry],
  })
  new Gauge({ name: 'uk_info', help: 'Always 1.', labelNames: ['node'] as const, registers: [registry] }).set(
    { node: process.version },
    1,
  )
  return {
    registry,
    request(endpoint, status, seconds) {
      requests.inc({ endpoint, status })
      duration.observe({ endpoint }, seconds)
    },
  }
}
