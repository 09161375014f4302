import { hasWords, sortedBy } from './lists.ts'
import type { ShownModel } from './show.ts'

export interface Filters {
  q?: string | undefined
  provider?: string | undefined
  capability?: string[] | undefined
  max_input_price?: number | undefined
  max_output_price?: number | undefined
  min_context_length?: number | undefined
  min_capability_index?: number | undefined
  sort?: Sort | undefined
  order?: 'asc' | 'desc' | undefined
}
export type Sort = 'price' | 'context_length' | 'capability_index' | 'created_at' | 'name'

/** Filters and sorts models. A model with an unknown value doesn't match a filter on it. */
export function search(models: readonly ShownModel[], filters: Filters): ShownModel[] {
  const { sort = 'name' } = filters
  const descending = (filters.order ?? (sort === 'price' || sort === 'name' ? 'asc' : 'desc')) === 'desc'
  const found = models.filter((model) => passes(model, filters))
  return sortedBy(found, keys[sort], descending)
}

function passes(model: ShownModel, filters: Filters): boolean {
  if (!hasWords(`${model.slug} ${model.name}`, filters.q)) return false
  if (filters.provider !== undefined && model.provider !== filters.provider) return false
  if (!(filters.capability ?? []).every((capability) => model.capabilities.includes(capability))) return false
  return (
    atMost(model.pricing?.input, filters.max_input_price) &&
    atMost(model.pricing?.output, filters.max_output_price) &&
    atLeast(model.context_length, filters.min_context_length) &&
    atLeast(model.capability_index, filters.min_capability_index)
  )
}

const atMost = (value: number | undefined, most: number | undefined): boolean =>
  most === undefined || (value !== undefined && value <= most)
const atLeast = (value: number | null, least: number | undefined): boolean =>
  least === undefined || (value !== null && value >= least)

const keys: Record<Sort, (model: ShownModel) => number | string | null> = {
  price: ({ pricing }) => (pricing === null ? null : pricing.input + pricing.output),
  context_length: (model) => model.context_length,
  capability_index: (model) => model.capability_index,
  created_at: (model) => model.created_at,
  name: (model) => model.name.toLowerCase(),
}
