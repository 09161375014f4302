import { readFileSync } from 'node:fs'
import type { CatalogueModel } from './model.ts'

export interface Source {
  name: string
  version: string
  date: string
  licence: string
}

export interface Snapshot {
  sources: Source[]
  models: CatalogueModel[]
}

export interface Catalogue extends Snapshot {
  find(slug: string): CatalogueModel | undefined
  byProvider: ReadonlyMap<string, readonly CatalogueModel[]>
}

export function catalogueOf({ sources, models }: Snapshot): Catalogue {
  const bySlug = new Map(models.map((model) => [model.slug, model]))
  const byProvider = new Map<string, CatalogueModel[]>()
  for (const model of models) {
    const list = byProvider.get(model.provider)
    if (list) list.push(model)
    else byProvider.set(model.provider, [model])
  }
  return { sources, models, byProvider, find: (slug) => bySlug.get(slug) }
}

let shippedOnce: Catalogue | undefined

/** The catalog of this release, vendors' own models before resellers'. */
export function shippedCatalogue(): Catalogue {
  shippedOnce ??= catalogueOf(JSON.parse(readFileSync(new URL('snapshot.json', import.meta.url), 'utf8')) as Snapshot)
  return shippedOnce
}

export const bareNamesOf = (model: Pick<CatalogueModel, 'provider' | 'upstream_model'>): ReadonlySet<string> =>
  new Set(names(model).map(plainName))

/**
 * `openai/gpt-5` is also `gpt-5`; on Bedrock, `eu.anthropic.claude-opus-4-5-20251101-v1:0` is also `claude-opus-4-5`,
 * with or without the date.
 */
function names({ provider, upstream_model: id }: Pick<CatalogueModel, 'provider' | 'upstream_model'>): string[] {
  if (provider !== 'bedrock') return [id, id.slice(id.lastIndexOf('/') + 1)]
  const bareName = id.replace(/^((us-gov|[a-z]{2}|apac|global)\.)?[a-z0-9-]+\./, '').replace(/-v\d+(:\d+)?$/, '')
  return [id, bareName, bareName.replace(/-\d{8}$/, '')]
}

/** Vendors write 4-5 where resellers write 4.5. */
export const plainName = (name: string): string => name.toLowerCase().replace(/(?<=\d)\.(?=\d)/g, '-')
