import type { z } from 'zod'
import type { Secrets } from '#engine/secrets.ts'
import type { Catalogue } from '#gateway/catalogue/catalogue.ts'
import type { HealthView } from '#gateway/routing/health.ts'
import { faultWords } from '#gateway/routing/explain.ts'
import { type Id, idOf } from '#kernel/ids.ts'
import { iso } from '#kernel/time.ts'
import type { Preset as PresetSchema, ProviderEndpoint } from './contract-endpoints.ts'
import type { Provider } from './contract.ts'
import { type Preset, whyKeyless } from './endpoints/presets.ts'
import type { Row } from './catalogues/rows.ts'
import { whyUnreadable } from './endpoints/sealing.ts'
import type { Source } from './endpoints/sources.ts'
import { type EndpointRow, INSTANCE } from './store.ts'

/** Never with a secret: whether there is a key, its end, and the names of the headers. */
export const showEndpoint = (row: EndpointRow, secrets: Secrets): z.output<typeof ProviderEndpoint> => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  preset: row.preset,
  shape: row.shape,
  base_url: row.base_url,
  has_api_key: row.sealed_key !== null,
  api_key_last4: row.api_key_last4,
  header_names: row.header_names,
  models: row.models,
  enabled: row.enabled,
  ...showStatus(row, secrets),
  priority: row.priority,
  weight: row.weight,
  data_policy: row.data_policy,
  workspace_id: row.workspace_id,
  instance: row.owner_id === INSTANCE,
  created_by: row.created_by,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

function showStatus(
  row: EndpointRow,
  secrets: Secrets,
): Pick<z.output<typeof ProviderEndpoint>, 'status' | 'status_reason'> {
  if (!row.enabled) return { status: 'disabled', status_reason: null }
  const keyless = whyKeyless(row)
  if (keyless !== null) return { status: 'needs_key', status_reason: keyless }
  const unreadable = whyUnreadable(secrets, row)
  return { status: unreadable === null ? 'available' : 'unreadable_key', status_reason: unreadable }
}

export const showPreset = (
  { id, name, shape, base_url, needs_key, reports_cost, local, catalogue }: Preset,
  { sources, byProvider }: Catalogue,
): z.output<typeof PresetSchema> => ({
  id: idOf('preset', id),
  created_at: new Date(sources[0]!.date).toISOString(),
  slug: id,
  name,
  shape,
  base_url,
  needs_key,
  reports_cost,
  local,
  models_count: catalogue === null ? null : (byProvider.get(catalogue)?.length ?? 0),
})

/** The endpoint behind an offer, for callers who may know it. */
export const knownEndpoint = ({ from, endpoint }: Source, administers: boolean): Id | null =>
  from === 'account' || from === 'workspace' || (from === 'instance' && administers) ? endpoint.id : null

export const showProvider = (
  source: Source,
  rows: readonly Row[],
  administers: boolean,
  health: HealthView,
): z.output<typeof Provider> => {
  const { from, ownerId, workspaceId, endpoint, createdAt } = source
  return {
    id: idOf('provider', ownerId, endpoint.id),
    created_at: createdAt,
    slug: endpoint.slug,
    name: endpoint.name,
    shape: endpoint.shape,
    billing: endpoint.billing,
    source: from,
    workspace_id: workspaceId,
    endpoint_id: knownEndpoint(source, administers),
    models_count: rows.length,
    ...showHealth(rows, health),
  }
}

function showHealth(
  rows: readonly Row[],
  health: HealthView,
): Pick<z.output<typeof Provider>, 'status' | 'status_reason' | 'set_aside_until'> {
  const now = performance.now()
  const aside = rows.flatMap((row) => health.aside(row) ?? [])
  const last = aside.toSorted((a, b) => b.until - a.until)[0]
  if (last === undefined) return { status: 'available', status_reason: null, set_aside_until: null }
  // Of an endpoint with a thousand models only those that were called can have failed.
  const called = rows.filter((row) => health.stats(row) !== null || health.aside(row) !== null)
  return {
    status: aside.length === called.length ? 'set_aside' : 'degraded',
    status_reason: faultWords[last.kind],
    set_aside_until: iso(new Date(Date.now() + last.until - now)),
  }
}
