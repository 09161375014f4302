import type { CatalogueModel } from '../catalogue/model.ts'
import type { Offer } from '../model/offer.ts'

export const SIM_CONTEXT = 1_000_000
export const SIM_OUTPUT = 100_000

const model = (name: 'echo' | 'script', capabilities: string[]): CatalogueModel => ({
  slug: `sim/${name}`,
  provider: 'sim',
  upstream_model: name,
  name: name === 'echo' ? 'Simulated echo' : 'Simulated script',
  kind: 'text',
  context_length: SIM_CONTEXT,
  max_output_tokens: SIM_OUTPUT,
  modalities: { input: ['text'], output: ['text'] },
  capabilities,
  capability_index: null,
  capability_index_source: null,
  pricing: { input: '1', output: '2' },
  price_source: 'contract',
  price_date: '2026-11-21',
  released_at: '2026-11-21',
})

/** The simulated models as the catalogue lists them (contract, part 8). */
export const simModels: readonly CatalogueModel[] = [model('echo', []), model('script', ['tools', 'reasoning'])]

/** The reserved slug names the simulated provider alone. */
export const isSimulated = ({ endpoint }: Offer): boolean => endpoint.slug === 'sim'

export type SimModel = 'echo' | 'script'

/** Which simulated model this is, by the platform's name or the upstream one; null: none. */
export function simModelOf(name: string): SimModel | null {
  const found = simModels.find(({ slug, upstream_model }) => slug === name || upstream_model === name)
  return found === undefined ? null : (found.upstream_model as SimModel)
}
