import type { ProviderEndpoint } from '#gateway/directory.ts'
import type { Id } from '#kernel/ids.ts'
import { originOf } from './address.ts'
import { presetOf, presets } from './presets.ts'
import type { EndpointModel } from './store.ts'

/** A provider endpoint as this process holds it, wherever it comes from. */
export interface Source {
  from: 'account' | 'workspace' | 'instance' | 'environment' | 'discovered' | 'simulated'
  ownerId: Id
  workspaceId: Id | null
  endpoint: ProviderEndpoint
  /** What it was given; empty: the catalogue's, or the provider is asked. */
  models: readonly EndpointModel[]
  /** ISO 8601. */
  createdAt: string
  updatedAt: string
}

/** Whose models and prices in the catalogue are this endpoint's: its preset's, else that of who lives at this address. */
export function catalogueProviderOf({ preset, baseUrl }: ProviderEndpoint): string | null {
  if (preset !== null) return presetOf(preset)?.catalogue ?? null
  if (baseUrl === '') return null
  const origin = originOf(baseUrl)
  return (
    presets.find(({ base_url, local }) => !local && base_url !== null && originOf(base_url) === origin)?.catalogue ??
    null
  )
}

/** On hardware of one's own: a call costs nothing. */
export const isLocal = ({ preset, shape }: ProviderEndpoint): boolean =>
  shape === 'ollama' || presetOf(preset)?.local === true

/** The provider has to be asked what it serves. */
export const mustAsk = ({ from, models, endpoint }: Source): boolean =>
  from !== 'simulated' && models.length === 0 && catalogueProviderOf(endpoint) === null
