import { refuse } from '#core/errors.ts'
import type { ListedOffer } from '../../model/offer.ts'
import type { HealthView } from '../../routing/health.ts'
import { supportedParameters } from '../../providers/parameters.ts'
import type { GatewayRequest } from '../../request/request.ts'
import { unknownModel } from '../../routing/model-names/unknown-model.ts'
import { writeModel } from './models.ts'
import { writePricing } from './pricing.ts'

export function showEndpoints(request: GatewayRequest, model: string): void {
  const { directory, health } = request.gateway
  request.after(directory.offers(request.caller.principal, model), (offers) => {
    const rows = offers as readonly ListedOffer[]
    const [first] = rows
    if (first === undefined)
      return request.after(directory.models(request.caller.principal), (models) =>
        refuse('not_found', { message: unknownModel(request.surface, model, models), param: 'model' }),
      )
    const { id, name, created, description, architecture } = writeModel(first) as Record<string, unknown>
    const endpoints = rows.map((row) => endpointRow(row, health))
    request.json(200, { data: { id, name, created, description, architecture, endpoints } })
  })
}

const percentiles = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 } as const

/** Unmeasured and unknown values are null. */
export function endpointRow(row: ListedOffer, health: HealthView): object {
  const { endpoint, slug, name, contextLength, maxOutputTokens, quantization } = row
  const figures = health.stats(row)
  const percentilesOf = (of: (percentile: number) => number | null): object | null =>
    of(0.5) === null ? null : Object.fromEntries(Object.entries(percentiles).map(([word, at]) => [word, of(at)]))
  const up = figures?.failing === null || figures === null ? null : Math.round((1 - figures.failing) * 1000) / 10
  return {
    name: `${endpoint.name} | ${slug}`,
    tag: endpoint.slug,
    provider_name: endpoint.name,
    model_id: slug,
    model_name: name,
    context_length: contextLength,
    pricing: writePricing(row),
    quantization: quantization ?? 'unknown',
    max_completion_tokens: maxOutputTokens,
    max_prompt_tokens: contextLength,
    supported_parameters: supportedParameters(row),
    // 0: available; below 0: tried last.
    status: health.failing(row) === null && health.aside(row) === null ? 0 : -1,
    uptime_last_5m: up,
    uptime_last_30m: up,
    uptime_last_1d: null,
    latency_last_30m: figures && percentilesOf(figures.latency),
    throughput_last_30m: figures && percentilesOf(figures.throughput),
    supports_implicit_caching: row.capabilities.includes('prompt_caching'),
  }
}
