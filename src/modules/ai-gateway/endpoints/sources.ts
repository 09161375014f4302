import type { Secrets } from '#infra/secrets.ts'
import type { CatalogueModel } from '#gateway/catalogue/model.ts'
import type { DataPolicy, ProviderEndpoint } from '#gateway/model/offer.ts'
import { mediaProviders } from '#gateway/providers/every-provider.ts'
import type { Id } from '#core/ids.ts'
import { originOf } from './address.ts'
import { presetOf, presets } from './presets.ts'
import { openSecrets } from './sealing.ts'
import type { EndpointModel, EndpointRow } from '../store.ts'

export interface Source {
  from: 'account' | 'workspace' | 'instance' | 'environment' | 'discovered' | 'simulated' | 'computer' | 'server'
  computerId?: Id
  ownerId: Id
  workspaceId: Id | null
  endpoint: ProviderEndpoint
  own?: readonly CatalogueModel[]
  /** Configured models. Empty: the catalogue's or the provider's list. */
  models: readonly EndpointModel[]
  /** ISO 8601. */
  createdAt: string
  updatedAt: string
}

export function catalogueProviderOf({ preset, baseUrl }: ProviderEndpoint): string | null {
  if (preset !== null) return presetOf(preset)?.catalogue ?? null
  if (baseUrl === '') return null
  const origin = originOf(baseUrl)
  return (
    presets.find(({ base_url, local }) => !local && base_url !== null && originOf(base_url) === origin)?.catalogue ??
    null
  )
}

export const isLocal = ({ preset, shape }: Pick<ProviderEndpoint, 'preset' | 'shape'>): boolean =>
  shape === 'ollama' || presetOf(preset)?.local === true

export function policyOf({ data_policy: { keeps, trains }, preset, shape }: EndpointRow): DataPolicy {
  const otherwise = isLocal({ preset, shape }) ? false : null
  return { keeps: keeps ?? otherwise, trains: trains ?? otherwise }
}

/** Media vendors that list more than the catalogue has, such as new models and voices that are models. */
const listing: ReadonlySet<string> = new Set(mediaProviders.filter(({ lists }) => lists).map(({ shape }) => shape))

export const needsModelList = ({ own, models, endpoint }: Source): boolean =>
  own === undefined && models.length === 0 && (catalogueProviderOf(endpoint) === null || listing.has(endpoint.shape))

/** Opens a stored endpoint's secrets. Throws if the root key that sealed them is missing. */
export function storedSource(row: EndpointRow, secrets: Secrets): Source {
  const from = row.workspace_id !== null ? 'workspace' : row.account_id !== null ? 'account' : 'instance'
  return {
    from,
    ownerId: row.owner_id,
    workspaceId: row.workspace_id,
    models: row.models,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    endpoint: {
      id: row.id,
      slug: row.slug,
      name: row.name,
      shape: row.shape,
      baseUrl: row.base_url,
      ...openSecrets(secrets, row),
      billing: from === 'instance' ? 'credits' : 'byok',
      priority: row.priority,
      weight: row.weight,
      dataPolicy: policyOf(row),
      preset: row.preset,
      mayBePrivate: from === 'instance',
      connection: row.connection,
      ...(row.workspace_id !== null && { workspaceId: row.workspace_id }),
    },
  }
}
