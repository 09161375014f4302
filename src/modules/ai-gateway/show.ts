import type { z } from 'zod'
import type { Secrets } from '#infra/secrets.ts'
import type { Catalogue } from '#gateway/catalogue/catalogue.ts'
import type { HealthView } from '#gateway/routing/health.ts'
import { faultWords } from '#gateway/routing/explain.ts'
import { type Id, idOf } from '#core/ids.ts'
import { iso } from '#core/time.ts'
import type { Preset as PresetSchema, ProviderEndpoint } from './contract-endpoints.ts'
import type { Provider } from './contract.ts'
import { type Preset, whyKeyless } from './endpoints/presets.ts'
import type { Row } from './catalogues/rows.ts'
import { whyUnreadable } from './endpoints/sealing.ts'
import type { Source } from './endpoints/sources.ts'
import { type Standing, reasonWords, untestedState } from './connections/connection-state.ts'
import { type EndpointRow, INSTANCE } from './store.ts'

export const showEndpoint = (
  row: EndpointRow,
  secrets: Secrets,
  standing: Standing,
  administers: boolean,
): z.output<typeof ProviderEndpoint> => ({
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
  ...showStanding(standing, administers),
  ...whyIdle(row, secrets),
  priority: row.priority,
  weight: row.weight,
  data_policy: row.data_policy,
  workspace_id: row.workspace_id,
  instance: row.owner_id === INSTANCE,
  created_by: row.created_by,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

type StandingFields = Pick<
  z.output<typeof ProviderEndpoint>,
  'status' | 'status_reason' | 'last_error' | 'last_error_at' | 'last_success_at' | 'latency_ms' | 'models_count'
>

/** The provider's message may describe the account, so only administrators of the endpoint see it. */
function showStanding({ state, modelsCount }: Standing, administers: boolean): StandingFields {
  const { status, reason, lastError, lastErrorKind, lastErrorAt, lastSuccessAt, latencyMs } =
    state ?? untestedState(new Date(0))
  return {
    status,
    status_reason: reasonWords(reason),
    last_error: administers ? lastError : lastError && reasonWords(lastErrorKind),
    last_error_at: lastErrorAt && iso(lastErrorAt),
    last_success_at: lastSuccessAt && iso(lastSuccessAt),
    latency_ms: latencyMs,
    models_count: modelsCount,
  }
}

function whyIdle(row: EndpointRow, secrets: Secrets): Partial<StandingFields> {
  if (!row.enabled) return { status: 'disabled', status_reason: null }
  const keyless = whyKeyless(row)
  if (keyless !== null) return { status: 'needs_key', status_reason: keyless }
  const unreadable = whyUnreadable(secrets, row)
  return unreadable === null ? {} : { status: 'unreadable_key', status_reason: unreadable }
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

export const visibleEndpointId = ({ from, endpoint }: Source, administers: boolean): Id | null =>
  from === 'account' || from === 'workspace' || (from === 'instance' && administers) ? endpoint.id : null

export const showProvider = (
  source: Source,
  rows: readonly Row[],
  standing: Standing,
  { administersInstance, administers }: { administersInstance: boolean; administers: boolean },
  health: HealthView,
): z.output<typeof Provider> => {
  const { from, ownerId, workspaceId, endpoint, createdAt } = source
  const standingFields = { ...showStanding(standing, administers), ...ofOwn(source) }
  return {
    id: idOf('provider', ownerId, endpoint.id),
    created_at: createdAt,
    slug: endpoint.slug,
    name: endpoint.name,
    shape: endpoint.shape,
    billing: endpoint.billing,
    source: from,
    workspace_id: workspaceId,
    endpoint_id: visibleEndpointId(source, administersInstance),
    ...standingFields,
    serving: standingFields.status !== 'failing',
    ...(standingFields.status === 'failing'
      ? { set_aside_until: null }
      : asideOf(rows, health, standingFields.status_reason)),
  }
}

function ofOwn({ from, endpoint }: Source): Partial<StandingFields> {
  if (from === 'computer')
    return endpoint.away === true
      ? { status: 'failing', status_reason: 'Its computer isn’t connected.' }
      : { status: 'working' }
  return from === 'simulated' || from === 'server' ? { status: 'working' } : {}
}

function asideOf(
  rows: readonly Row[],
  health: HealthView,
  reason: string | null,
): Pick<z.output<typeof Provider>, 'status_reason' | 'set_aside_until'> {
  const now = performance.now()
  const aside = rows.flatMap((row) => health.aside(row) ?? [])
  const last = aside.toSorted((a, b) => b.until - a.until)[0]
  if (last === undefined) return { status_reason: reason, set_aside_until: null }
  // A model without requests can't have failed.
  const calledRows = rows.filter((row) => health.stats(row) !== null || health.aside(row) !== null)
  return aside.length === calledRows.length
    ? {
        status_reason: `It recently ${faultWords[last.kind]}, so it’s tried last.`,
        set_aside_until: iso(new Date(Date.now() + last.until - now)),
      }
    : {
        status_reason: `Some of its models are tried last: it recently ${faultWords[last.kind]}.`,
        set_aside_until: null,
      }
}
