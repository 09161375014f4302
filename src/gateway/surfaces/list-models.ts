import { refuse } from '#kernel/errors.ts'
import { unknownModel } from '../routing/model-names/unknown-model.ts'
import type { Visit } from '../request.ts'

/** `GET /models`, in the surface's shape. */
export function listModels(visit: Visit): void {
  const { directory } = visit.gateway
  visit.after(directory.models(visit.caller.principal), (rows) => {
    const mark = visit.request.url!.indexOf('?')
    const query = new URLSearchParams(mark < 0 ? '' : visit.request.url!.slice(mark + 1))
    visit.json(200, visit.surface.models(rows, query))
  })
}

/** `GET /models/{id}`: by the platform's id, or by a bare name that one answer is left for. */
export function showModel(visit: Visit, id: string): void {
  const { directory } = visit.gateway
  visit.after(directory.models(visit.caller.principal), (rows) => {
    const named = rows.filter(({ upstreamModel }) => upstreamModel === id)
    const found = rows.find(({ slug }) => slug === id) ?? (named.length === 1 ? named[0] : undefined)
    if (found) visit.json(200, visit.surface.model(found))
    else refuse('not_found', { message: unknownModel(visit.surface, id, rows), param: 'model' })
  })
}
