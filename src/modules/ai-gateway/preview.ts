import type { z } from 'zod'
import type { Context } from '#infra/context.ts'
import { unitPrice } from '#gateway/catalogue/price-of-one.ts'
import type { Offer } from '#gateway/model/offer.ts'
import type { GatewayFaces } from '#gateway/mount.ts'
import type { RoutingPreview } from './contract-routing.ts'
import type { aiGateway } from './contract.ts'
import { isInstanceAdmin } from './endpoints/administer.ts'
import type { Row } from './catalogues/rows.ts'
import { visibleEndpointId } from './show.ts'

type Input = z.output<z.ZodObject<NonNullable<(typeof aiGateway)['endpoints']['routing_preview']['body']>>>

export async function previewRoute(
  ctx: Context<Pick<GatewayFaces, 'previewRoute'>>,
  {
    model,
    models,
    shape,
    provider,
    max_tokens,
    input_tokens,
    tools,
    images,
    parameters,
    seed: requestedSeed,
    workspace_id,
  }: Input,
): Promise<z.output<typeof RoutingPreview>> {
  const { seed, first, candidates, excluded } = await ctx.engine.previewRoute(ctx.principal, {
    models: [...new Set([model, ...models])],
    shape,
    provider,
    parameters,
    maxTokens: max_tokens,
    inputTokens: input_tokens,
    tools,
    images,
    seed: requestedSeed,
    workspaceId: workspace_id ?? null,
  })
  // The directory's offers are rows.
  const { id, createdAt } = first as Row
  return {
    id,
    created_at: createdAt,
    model,
    seed,
    candidates: candidates.map(({ offer, variant, weight, reason, maxCostUsd }) => ({
      provider: offer.endpoint.slug,
      endpoint_id: visibleEndpointId((offer as Row).source, isInstanceAdmin(ctx)),
      computer_id: (offer as Row).source.computerId ?? null,
      model: offer.slug,
      upstream_model: offer.upstreamModel + variant,
      billing: offer.endpoint.billing,
      weight,
      reason,
      price: priceOf(offer),
      max_cost_usd: maxCostUsd,
    })),
    excluded,
  }
}

function priceOf({ pricing, media }: Offer): z.output<typeof RoutingPreview>['candidates'][number]['price'] {
  if (pricing === null) return null
  const unit = media && unitPrice(media.kind, pricing)
  return {
    input: Number(pricing.input),
    output: Number(pricing.output),
    request: pricing.request === undefined ? null : Number(pricing.request),
    unit: unit === undefined ? null : Number(unit),
  }
}
