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

interface Loaded {
  models: readonly CatalogueModel[]
  sources: readonly Source[]
  bySlug: Map<string, CatalogueModel>
  byName: Map<string, CatalogueModel[]>
}

let loaded: Loaded | undefined

/** Every model, a vendor's own before those who resell it. Read on first use, from the file beside this one. */
export const models = (): readonly CatalogueModel[] => load().models
export const sources = (): readonly Source[] => load().sources
export const find = (slug: string): CatalogueModel | undefined => load().bySlug.get(slug)

/** Who serves `claude-sonnet-5`, whatever each of them calls it. Free and batch variants have names of their own. */
export const candidatesForBareName = (name: string): readonly CatalogueModel[] =>
  load().byName.get(plainName(name)) ?? []

function load(): Loaded {
  if (loaded) return loaded
  const file = readFileSync(new URL('snapshot.json', import.meta.url), 'utf8')
  const { models, sources } = JSON.parse(file) as Snapshot
  const bySlug = new Map(models.map((model) => [model.slug, model]))
  const byName = new Map<string, CatalogueModel[]>()
  for (const model of models)
    for (const name of bareNamesOf(model)) {
      const known = byName.get(name)
      if (known) known.push(model)
      else byName.set(name, [model])
    }
  return (loaded = { models, sources, bySlug, byName })
}

/** Every bare name that a provider's model goes by, in the form of `plainName`. */
export const bareNamesOf = (model: Pick<CatalogueModel, 'provider' | 'upstream_model'>): ReadonlySet<string> =>
  new Set(names(model).map(plainName))

/** `openai/gpt-5` is `gpt-5` too; on Bedrock `eu.anthropic.claude-opus-4-5-20251101-v1:0` is `claude-opus-4-5`, dated or not. */
function names({ provider, upstream_model: id }: Pick<CatalogueModel, 'provider' | 'upstream_model'>): string[] {
  if (provider !== 'bedrock') return [id, id.slice(id.lastIndexOf('/') + 1)]
  const dated = id.replace(/^((us-gov|[a-z]{2}|apac|global)\.)?[a-z0-9-]+\./, '').replace(/-v\d+(:\d+)?$/, '')
  return [id, dated, dated.replace(/-\d{8}$/, '')]
}

/** Vendors write 4-5 where resellers write 4.5. */
export const plainName = (name: string): string => name.toLowerCase().replace(/(?<=\d)\.(?=\d)/g, '-')
