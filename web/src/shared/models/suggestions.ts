import type { Model } from '../api.ts'

export interface Suggestion {
  name: string
  about: string
}

/** Models by provider, preceded by the bare names that several providers serve, which are routed. */
export function suggestionsFor(models: readonly Pick<Model, 'slug' | 'name' | 'provider'>[]): Suggestion[] {
  const byName = Map.groupBy(models, ({ slug }) => slug.slice(slug.indexOf('/') + 1))
  const bare = [...byName]
    .filter(([, same]) => same.length > 1)
    .map(([name, same]) => ({ name, about: `any of ${same.map(({ provider }) => provider).join(', ')}` }))
  return [...bare, ...models.map(({ slug, name }) => ({ name: slug, about: name }))]
}
