import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { type GatewayTallies, createGatewayTallies } from './gateway-tallies.ts'

/** `/metrics` in Prometheus text format. Label values are endpoint names and statuses, never IDs. */
export interface Metrics {
  registry: Registry
  request(endpoint: string, status: number, seconds: number): void
  loss(surface: string, shape: string, field: string): void
  gateway: GatewayTallies
}

/** Clients choose unknown field names: above this limit they share one label. */
const MAX_FIELDS = 200

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'uk_' })
  const requests = new Counter({
    name: 'uk_http_requests_total',
    help: 'Requests handled.',
    labelNames: ['endpoint', 'status'] as const,
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'uk_http_request_seconds',
    help: 'Time from a request’s headers to the end of its response.',
    labelNames: ['endpoint'] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers: [registry],
  })
  const losses = new Counter({
    name: 'uk_gateway_losses_total',
    help: 'Request fields lost in the translation to a provider’s API format.',
    labelNames: ['surface', 'shape', 'field'] as const,
    registers: [registry],
  })
  const fields = new Set<string>()
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
    gateway: createGatewayTallies(registry),
    loss(surface, shape, field) {
      const isKnown = fields.has(field) || (fields.size < MAX_FIELDS && /^[\w.]{1,64}$/.test(field))
      if (isKnown) fields.add(field)
      losses.inc({ surface, shape, field: isKnown ? field : 'other' })
    },
  }
}
