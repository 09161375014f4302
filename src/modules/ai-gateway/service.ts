import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { callersAccount } from '#modules/accounts/service.ts'
import { checkLive } from '#authz/live.ts'
import type { Context } from '#infra/context.ts'
import { addressPolicy } from '#packages/http-client/address.ts'
import { sqlState } from '#infra/postgres/client.ts'
import { workspaceGone } from '#authz/resources.ts'
import { rightsChanged } from '#authz/rights.ts'
import type { GatewayFaces } from '#gateway/mount.ts'
import type { HealthView } from '#gateway/routing/health.ts'
import { finder } from '#core/context.ts'
import { absent, refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import { type Id, newId } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { reachableWorkspaces } from '#core/principal.ts'
import { iso } from '#core/time.ts'
import { checkBaseUrl, originOf } from './endpoints/address.ts'
import { aiGateway } from './contract.ts'
import { connectionStore } from './connections/connection-store.ts'
import type { HasEndpoints } from './directory/has-endpoints.ts'
import { administers, isInstanceAdmin, ownerFor, reachesWholeAccount } from './endpoints/administer.ts'
import { checkHasKey, hasKey, presetOf, presets, whyKeyless } from './endpoints/presets.ts'
import { previewRoute } from './preview.ts'
import { sealHeaders, sealKey, whyUnreadable } from './endpoints/sealing.ts'
import { listProviders } from './list-providers.ts'
import { showEndpoint, showPreset } from './show.ts'
import { getRequest, listRequests } from './requests/requests.ts'
import { exportUsage } from './usage/export.ts'
import { gatewayUsage } from './usage/report.ts'
import { type EndpointChanges, type EndpointRow, INSTANCE, endpointStore } from './store.ts'

export type { EndpointDirectory, HasEndpoints } from './directory/has-endpoints.ts'
export type { HasVoices, Voices } from './voices/voices.ts'
export { TransportFailed } from '#gateway/providers/transport/transport.ts'
export type { LocalModel, Machine, Machines } from './directory/local-models.ts'
export { disableEndpointsOf } from './endpoints/disable.ts'
export { connectionSchedules } from './connections/endpoint-tests.ts'
export { catalogueService } from './catalogues/catalogues.ts'
export { type Row, rowOfCatalogue } from './catalogues/rows.ts'

const MAX_ENDPOINTS = 100

export const endpoints = finder<Context, EndpointRow>('provider_endpoint', async (ctx, id) => {
  const row = await endpointStore.get(ctx.db, id)
  if (row === undefined) return null
  // Instance endpoints appear to administrators as their own.
  if (row.owner_id === INSTANCE) return isInstanceAdmin(ctx) ? { ...row, account_id: ctx.principal.accountId } : null
  return row.account_id !== null && !reachesWholeAccount(ctx) ? null : row
})

export interface GatewayHandles extends HasEndpoints, Pick<GatewayFaces, 'previewRoute'> {
  providerHealth: HealthView
}

export const aiGatewayService = implementWith<Context<GatewayHandles>>()(
  aiGateway,
  {
    providers: (ctx, query) => listProviders(ctx, query),
    async usage(ctx, query) {
      const { id, created_at } = await callersAccount(ctx)
      return { id, created_at: iso(created_at), ...(await gatewayUsage(ctx, query)) }
    },
    usage_export: (ctx, query) => exportUsage(ctx, query),
    requests: (ctx, query) => listRequests(ctx, query),
    request: (ctx, { id }) => getRequest(ctx, id),
    routing_preview: (ctx, input) => previewRoute(ctx, input),

    async list(ctx, { workspace_id, enabled, cursor, limit }) {
      const all = [
        ...(reachesWholeAccount(ctx) ? [ctx.principal.accountId] : []),
        ...(isInstanceAdmin(ctx) ? [INSTANCE] : []),
        ...reachableWorkspaces(ctx.principal, 'gateway:read'),
      ]
      if (workspace_id !== undefined && !all.includes(workspace_id))
        refuse('not_found', { param: 'workspace_id', message: absent('workspace', workspace_id) })
      const filters = { accountId: ctx.principal.accountId, workspace_id, enabled }
      const before = positionOf('provider_endpoints', filters, cursor)
      const rows = await endpointStore.list(ctx.db, workspace_id === undefined ? all : [workspace_id], {
        enabled,
        before: (before?.[0] as Id) ?? null,
        limit: limit + 1,
      })
      const standings = await ctx.engine.endpoints.standingsOf(rows)
      const standingOf = new Map(rows.map(({ id }, i) => [id, standings[i]!]))
      return pageOf(
        rows,
        limit,
        ({ id }) => cursorOf('provider_endpoints', filters, [id]),
        (row) => showEndpoint(row, ctx.engine.secrets, standingOf.get(row.id)!, administers(ctx, row.owner_id)),
      )
    },

    async presets(ctx, { cursor, limit }) {
      const catalogue = ctx.engine.endpoints.catalogue()
      const after = Number(positionOf('provider_presets', null, cursor)?.[0] ?? 0)
      const rows = presets.map((preset, index) => ({ preset, index })).slice(after, after + limit + 1)
      return pageOf(
        rows,
        limit,
        ({ index }) => cursorOf('provider_presets', null, [index + 1]),
        ({ preset }) => showPreset(preset, catalogue),
      )
    },

    get: (ctx) => showWithStanding(ctx, endpoints.of(ctx)),

    async create(ctx, input) {
      const preset =
        input.preset === null
          ? null
          : (presetOf(input.preset) ??
            refuse('invalid_parameter', {
              param: 'preset',
              message: `The preset ${input.preset} doesn’t exist. \`GET /ai-gateway/provider-endpoints/presets\` lists all presets.`,
            }))
      const owner = ownerFor(ctx, input.workspace_id, input.instance)
      const shape = input.shape ?? preset?.shape ?? missing('shape')
      const slug = input.slug ?? preset?.id ?? missing('slug')
      const [id, connection] = [newId(), newId()]
      const toTest = input.test && input.enabled
      const { secrets } = ctx.engine
      const sealedSecrets = { ...sealKey(secrets, id, input.api_key), ...sealHeaders(secrets, id, input.headers) }
      const base_url = checkEndpointUrl(
        ctx,
        input.base_url ?? preset?.base_url ?? missing('base_url'),
        shape,
        owner.owner_id,
      )
      checkHasKey({ preset: preset?.id ?? null, base_url, ...sealedSecrets })
      const row = await change(ctx, 'provider_endpoint.created', async (ctx) => {
        if ((await endpointStore.countForCreate(ctx.db, owner.owner_id)) >= MAX_ENDPOINTS)
          refuse('limit_reached', {
            message: `You can have up to ${MAX_ENDPOINTS} provider endpoints. Delete one first.`,
            details: { limit: MAX_ENDPOINTS },
          })
        await connectionStore.begin(ctx.db, connection, toTest ? inCaseOfDeath(ctx) : null)
        return endpointStore
          .insert(ctx.db, {
            id,
            ...owner,
            slug,
            name: input.name ?? preset?.name ?? slug,
            preset: preset?.id ?? null,
            shape,
            base_url,
            ...sealedSecrets,
            models: input.models,
            enabled: input.enabled,
            priority: input.priority,
            weight: input.weight,
            data_policy: input.data_policy,
            connection,
            created_by: ctx.principal.accountId,
          })
          .catch(refuseTakenSlug(slug))
          .catch(workspaceGone)
      })
      if (toTest) await testSoon(ctx, row)
      return showWithStanding(ctx, row)
    },

    async update(ctx, { id, api_key, headers, models, base_url, test, ...plain }) {
      const { secrets } = ctx.engine
      let toTest = false
      const row = await change(ctx, 'provider_endpoint.updated', async (ctx) => {
        await checkLive(ctx)
        const row = await present(ctx, id)
        const shape = plain.shape ?? row.shape
        const sealedSecrets = {
          ...(api_key !== undefined && sealKey(secrets, id, api_key)),
          ...(headers !== undefined && sealHeaders(secrets, id, headers)),
        }
        const changes: EndpointChanges = {
          ...withoutUndefined(plain),
          ...(models !== undefined && { models: JSON.stringify(models) }),
          ...sealedSecrets,
        }
        if (base_url !== undefined || plain.shape !== undefined) {
          changes.base_url = checkEndpointUrl(ctx, base_url ?? row.base_url, shape, row.owner_id)
          // A secret for one host must not be sent to another because someone edits the address.
          if (originOf(changes.base_url) !== originOf(row.base_url)) {
            if (row.sealed_key !== null && api_key === undefined) again('api_key')
            if (row.sealed_headers !== null && headers === undefined) again('headers')
          }
        }
        // An endpoint that never had a key can still be renamed, disabled, or given one.
        if (hasKey(row)) checkHasKey({ ...row, ...sealedSecrets, base_url: changes.base_url ?? row.base_url })
        // Sealed secrets can't be compared, so a submitted one counts as a change.
        const hasNewSecret = api_key !== undefined || headers !== undefined
        if (!hasNewSecret && isDeepStrictEqual(row, { ...row, ...changes, models: models ?? row.models }))
          return { unchanged: row }
        const isAnother = hasNewSecret || (changes.base_url ?? row.base_url) !== row.base_url || shape !== row.shape
        if (isAnother) changes.connection = newId()
        toTest = test && (plain.enabled ?? row.enabled) && (isAnother || !row.enabled)
        if (isAnother) await connectionStore.begin(ctx.db, changes.connection as Id, toTest ? inCaseOfDeath(ctx) : null)
        return endpointStore.update(ctx.db, id, changes).catch(refuseTakenSlug(plain.slug ?? row.slug))
      })
      if (toTest) await testSoon(ctx, row)
      return showWithStanding(ctx, row)
    },

    async delete(ctx, { id }) {
      await change(ctx, 'provider_endpoint.deleted', async (ctx) => {
        const row = await present(ctx, id)
        await endpointStore.delete(ctx.db, id)
        return row
      })
      return { id }
    },

    async test(ctx) {
      const row = endpoints.of(ctx)
      const about = { id: row.id, created_at: iso(ctx.now()) }
      const why = whyKeyless(row) ?? whyUnreadable(ctx.engine.secrets, row)
      if (why !== null) return { ...about, ok: false, latency_ms: 0, models_count: null, error: why }
      const outcome = await ctx.engine.endpoints.test(asStored(row))
      const [standing] = outcome.ok ? await ctx.engine.endpoints.standingsOf([asStored(row)]) : []
      return {
        ...about,
        ok: outcome.ok,
        latency_ms: outcome.latencyMs,
        models_count: standing?.modelsCount ?? null,
        error: outcome.ok ? null : outcome.message,
      }
    },
  },
  [endpoints],
)

/** Undoes the change of owner made by the finder for instance endpoints. */
const asStored = (row: EndpointRow): EndpointRow => ({
  ...row,
  account_id: row.owner_id === INSTANCE ? null : row.account_id,
})

async function showWithStanding(ctx: Context<HasEndpoints>, row: EndpointRow) {
  const [standing] = await ctx.engine.endpoints.standingsOf([asStored(row)])
  return showEndpoint(row, ctx.engine.secrets, standing!, administers(ctx, row.owner_id))
}

/** How long a caller waits for a test, which then continues in the background. */
const PATIENCE_MS = 3_000

async function testSoon(ctx: Context<HasEndpoints>, row: EndpointRow): Promise<void> {
  if (!hasKey(row) || whyUnreadable(ctx.engine.secrets, row) !== null) return
  const testing = ctx.engine.endpoints.test(asStored(row)).catch((error: unknown) => {
    ctx.engine.log.warn({ error, provider_endpoint: row.id }, 'a provider endpoint was not tested')
  })
  await Promise.race([testing, sleep(PATIENCE_MS, undefined, { ref: false })])
}

/** When another process tests the endpoint if this one dies first. */
const inCaseOfDeath = (ctx: Context): Date => new Date(ctx.now().getTime() + 30_000)

const checkEndpointUrl = (ctx: Context, baseUrl: string, shape: EndpointRow['shape'], owner: Id): string =>
  checkBaseUrl(
    baseUrl,
    shape,
    owner === INSTANCE ? null : addressPolicy(ctx.engine.config.upstreamAllow),
    isInstanceAdmin(ctx),
  )

const missing = (param: string): never =>
  refuse('missing_parameter', { param, message: `\`${param}\` is required, because no preset provides it.` })
const again = (param: string): never =>
  refuse('missing_parameter', {
    param,
    message: `\`base_url\` has another origin, so send \`${param}\` again.`,
  })

const withoutUndefined = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T

const refuseTakenSlug =
  (slug: string) =>
  (error: unknown): never => {
    if (sqlState(error) !== '23505') throw error
    return refuse('already_exists', {
      param: 'slug',
      message: `A provider endpoint with the slug ${slug} already exists.`,
    })
  }

async function present(ctx: Context, id: Id): Promise<EndpointRow> {
  const row = (await endpointStore.getForUpdate(ctx.db, id)) ?? refuse('not_found', { param: 'id' })
  if (ctx.unchangedSince && ctx.unchangedSince.getTime() !== row.updated_at.getTime()) refuse('precondition_failed')
  return row
}

/** Runs `work` in a transaction. The change applies in this process on return, in the others within 0.5 s. */
async function change(
  ctx: Context<HasEndpoints>,
  type: string,
  work: (ctx: Context<HasEndpoints>) => Promise<EndpointRow | { unchanged: EndpointRow }>,
): Promise<EndpointRow> {
  const row = await ctx.transaction(async (ctx) => {
    const row = await work(ctx)
    if ('unchanged' in row) return row.unchanged
    await rightsChanged(ctx.db, [row.owner_id])
    await ctx.emit({
      type,
      channels: [
        row.workspace_id === null
          ? `user:${row.created_by ?? ctx.principal.accountId}`
          : `workspace:${row.workspace_id}`,
      ],
      resource: { type: 'provider_endpoint', id: row.id },
      data: { id: row.id, slug: row.slug, name: row.name },
    })
    return row
  })
  await ctx.engine.endpoints.refresh()
  return row
}
