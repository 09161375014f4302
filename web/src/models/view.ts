export interface ModelsView {
  q?: string
  status?: 'failing' | 'no_provider' | 'all'
  capability?: string
  context?: number
  sort?: 'price' | 'context_length' | 'capability_index' | 'created_at'
}

const statuses = ['failing', 'no_provider', 'all'] as const
const sorts = ['price', 'context_length', 'capability_index', 'created_at'] as const

export function modelsIn(search: Record<string, unknown>): ModelsView {
  const status = statuses.find((one) => one === search.status)
  const sort = sorts.find((one) => one === search.sort)
  const context = Number(search.context)
  return {
    ...(typeof search.q === 'string' && search.q !== '' && { q: search.q }),
    ...(status && { status }),
    ...(typeof search.capability === 'string' && search.capability !== '' && { capability: search.capability }),
    ...(Number.isInteger(context) && context > 0 && { context }),
    ...(sort && { sort }),
  }
}
