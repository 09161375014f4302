import { refuse } from '#core/errors.ts'
import { unknownModel } from '../routing/model-names/unknown-model.ts'
import type { GatewayRequest } from '../request/request.ts'

export function listModels(request: GatewayRequest): void {
  const { directory } = request.gateway
  request.after(directory.models(request.caller.principal), (rows) => {
    const mark = request.incoming.url!.indexOf('?')
    const query = new URLSearchParams(mark < 0 ? '' : request.incoming.url!.slice(mark + 1))
    request.json(200, request.surface.models(rows, query))
  })
}

/** By the platform's ID, or by an unambiguous bare name. */
export function showModel(request: GatewayRequest, id: string): void {
  const { directory } = request.gateway
  request.after(directory.models(request.caller.principal), (rows) => {
    const matches = rows.filter(({ upstreamModel }) => upstreamModel === id)
    const row = rows.find(({ slug }) => slug === id) ?? (matches.length === 1 ? matches[0] : undefined)
    if (row) request.json(200, request.surface.model(row))
    else refuse('not_found', { message: unknownModel(request.surface, id, rows), param: 'model' })
  })
}
