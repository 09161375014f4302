import { queryOptions } from '@tanstack/react-query'
import { grants } from '../../../../src/core/scopes.ts'
import { type Model, type NewApiKey, everyRow, queryClient, uk, ukWith } from '../api.ts'
import { sessionQuery, workspacesQuery } from '../session.ts'

type ListedModel = Pick<Model, 'slug' | 'provider' | 'pricing' | 'capabilities'>

/** A coding model for the examples: real before simulated, then the cheapest with a price. */
export function exampleModel(
  models: readonly ListedModel[],
  needsPrice: (model: ListedModel) => boolean,
): string | null {
  const callable = models.filter((model) => speaks(model) && (model.pricing !== null || !needsPrice(model)))
  const rank = ({ provider, pricing }: ListedModel): number => (provider === 'sim' ? 2 : pricing === null ? 1 : 0)
  const cost = ({ pricing }: ListedModel): number => (pricing === null ? 0 : pricing.input + pricing.output)
  return callable.toSorted((a, b) => rank(a) - rank(b) || cost(a) - cost(b))[0]?.slug ?? null
}

/** Self-described models may only have a name to go by. Free models are avoided because they often hit daily limits. */
const speaks = ({ slug, capabilities }: ListedModel): boolean =>
  !/embed/i.test(slug) && !capabilities.includes('embedding') && !slug.endsWith(':free')

/** A model this key can call. Models without a price can't be called under a cap or balance. */
export const exampleModelQuery = (made: NewApiKey) =>
  queryOptions({
    queryKey: ['example-model', made.id],
    queryFn: async () => {
      const reader = grants(made.scopes).has('model:read') ? ukWith(made.key) : uk
      const [{ items }, providers, workspaces, session] = await Promise.all([
        reader.models.search({ sort: 'price', limit: 100 }),
        everyRow(uk.ai_gateway.providers({ limit: 100 })),
        queryClient.fetchQuery(workspacesQuery),
        queryClient.fetchQuery(sessionQuery),
      ])
      const where = made.workspace_id ?? session?.account.personal_workspace_id
      const capped =
        made.spend_cap_usd !== null || workspaces.some((one) => one.id === where && one.spend_cap_usd !== null)
      const onBalance = new Set(
        session?.account.tier === 'unlimited'
          ? []
          : providers.filter(({ billing }) => billing === 'credits').map(({ slug }) => slug),
      )
      return exampleModel(items, ({ provider }) => capped || onBalance.has(provider))
    },
    staleTime: 300_000,
  })
