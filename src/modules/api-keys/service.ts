import type { z } from 'zod'
import { writeAudit } from '#authz/audit.ts'
import { type Context, implement } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import { checkLive } from '#authz/live.ts'
import { rightsChanged } from '#authz/rights.ts'
import { hashSecret, newSecret } from '#authz/api-key.ts'
import { absent, refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { type Nano, nanoOrNull, toUsd, usdOrNull } from '#core/money.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { type Scope, scopes as allScopes, atLeast, grants } from '#core/scopes.ts'
import { iso, isoOrNull } from '#core/time.ts'
import { type ApiKey, apiKeys } from './contract.ts'
import { type ApiKeyRow, apiKeyStore } from './store.ts'

const MAX_KEYS = 1000

export const apiKeyService = implement(apiKeys, {
  async list(ctx, { status, workspace_id, cursor, limit }) {
    const { accountId } = ctx.principal
    const filters = { accountId, status, ...(workspace_id !== undefined && { workspace_id }) }
    if (workspace_id !== undefined && !ctx.principal.memberships.has(workspace_id))
      refuse('not_found', { param: 'workspace_id', message: absent('workspace') })
    const whose =
      workspace_id === undefined
        ? { accountId }
        : { workspaceId: workspace_id, accountId: manages(ctx, workspace_id) ? null : accountId }
    const before = positionOf('api_keys', filters, cursor)
    const rows = await apiKeyStore.list(ctx.db, whose, status, (before?.[0] as Id) ?? null, limit + 1)
    const spent = await ctx.engine.ledger.readSpends(rows.map((row) => ({ id: row.id, period: row.spend_cap_period })))
    return pageOf(
      rows,
      limit,
      ({ id }) => cursorOf('api_keys', filters, [id]),
      (row) => show(ctx, row, spent.get(row.id) ?? 0n),
    )
  },

  async create(
    ctx,
    { name, scopes, workspace_id, version, expires_at, spend_cap_usd, spend_cap_period, allowed_models },
  ) {
    if (workspace_id !== null && !ctx.principal.memberships.has(workspace_id))
      refuse('not_found', { param: 'workspace_id', message: absent('workspace') })
    if (expires_at !== null && new Date(expires_at) <= ctx.now())
      refuse('invalid_parameter', { param: 'expires_at', message: '`expires_at` must be in the future.' })
    const secret = newSecret()
    const row = await changeRights(ctx, 'api_key.created', async (ctx) => {
      if ((await apiKeyStore.countForCreate(ctx.db, ctx.principal.accountId)) >= MAX_KEYS)
        refuse('limit_reached', {
          message: `You can have up to ${MAX_KEYS} API keys. Revoke one first.`,
          details: { limit: MAX_KEYS },
        })
      // A new key would outlive a session or key that was just revoked.
      await checkLive(ctx)
      return apiKeyStore.insert(ctx.db, {
        id: newId(),
        account_id: ctx.principal.accountId,
        workspace_id,
        name,
        scopes: expand(scopes),
        version: version === undefined ? ctx.engine.versions.newest : ctx.engine.versions.check(version, 'version'),
        ...stored(secret),
        expires_at: expires_at === null ? null : new Date(expires_at),
        spend_cap_nano: nanoOrNull(spend_cap_usd),
        spend_cap_period,
        allowed_models,
      })
    })
    return { ...show(ctx, row, 0n), key: secret }
  },

  async update(ctx, { id, name, scopes, expires_at, spend_cap_usd, spend_cap_period, allowed_models }) {
    const row = await changeRights(ctx, 'api_key.updated', async (ctx) => {
      const key = await usable(ctx, id)
      if (key.account_id !== ctx.principal.accountId && (name ?? scopes ?? expires_at) !== undefined)
        refuse('insufficient_role', {
          message:
            'You can change another member’s key only by editing its spend cap or allowed models, or by revoking it.',
        })
      return apiKeyStore.update(ctx.db, id, {
        ...(name !== undefined && { name }),
        ...(scopes !== undefined && { scopes: expand(scopes) }),
        ...(expires_at !== undefined && { expires_at: expires_at === null ? null : new Date(expires_at) }),
        ...(spend_cap_usd !== undefined && { spend_cap_nano: nanoOrNull(spend_cap_usd) }),
        ...(spend_cap_period !== undefined && { spend_cap_period }),
        ...(allowed_models !== undefined && { allowed_models }),
      })
    })
    return show(ctx, row, await spentOf(ctx, row))
  },

  async revoke(ctx, { id }) {
    await changeRights(ctx, 'api_key.revoked', async (ctx) => {
      const row = await found(ctx, id)
      if (row.revoked_at !== null) return row
      return apiKeyStore.update(ctx.db, id, { revoked_at: ctx.now() })
    })
    return { id }
  },

  async rotate(ctx, { id, overlap_seconds }) {
    const secret = newSecret()
    const row = await changeRights(ctx, 'api_key.rotated', async (ctx) => {
      const row = await usable(ctx, id)
      // Anyone with the new secret could act as the key's owner, so only the owner may rotate it.
      if (row.account_id !== ctx.principal.accountId)
        refuse('insufficient_role', { message: 'Only the owner can rotate a key. You can revoke it instead.' })
      return apiKeyStore.update(ctx.db, id, {
        ...stored(secret),
        // Kept even without an overlap, so that using the old secret reports its rotation.
        previous_hash: row.key_hash,
        previous_expires_at: overlap_seconds === 0 ? null : new Date(ctx.now().getTime() + overlap_seconds * 1000),
      })
    })
    return { ...show(ctx, row, await spentOf(ctx, row)), key: secret }
  },
})

export const keyName = async (db: Db, id: Id): Promise<string> => (await apiKeyStore.nameOf(db, id)) ?? ''

export const revokeKeysWithin = (ctx: Context, workspaceId: Id): Promise<number> =>
  revokeAll(ctx, 'workspace_id', workspaceId)

export const revokeKeysOf = (ctx: Context, accountId: Id): Promise<number> => revokeAll(ctx, 'account_id', accountId)

async function revokeAll(ctx: Context, by: 'workspace_id' | 'account_id', id: Id): Promise<number> {
  const rows = await apiKeyStore.revokeAll(ctx.db, by, id)
  await rightsChanged(ctx.db, [...new Set(rows.map((row) => row.account_id))])
  for (const row of rows) await emit(ctx, 'api_key.revoked', row)
  return rows.length
}

/** Records a change of a key's permissions for all processes and applies it in this one before the response is sent. */
async function changeRights(
  ctx: Context,
  type: string,
  change: (ctx: Context) => Promise<ApiKeyRow>,
): Promise<ApiKeyRow> {
  const row = await ctx.transaction(async (ctx) => {
    const row = await change(ctx)
    await rightsChanged(ctx.db, [row.account_id])
    await emit(ctx, type, row)
    if (row.account_id !== ctx.principal.accountId)
      await writeAudit(ctx, {
        action: type,
        workspaceId: row.workspace_id,
        subject: { type: 'api_key', id: row.id },
        details: {
          account_id: row.account_id,
          spend_cap_usd: usdOrNull(row.spend_cap_nano),
          spend_cap_period: row.spend_cap_period,
          allowed_models: row.allowed_models,
        },
      })
    return row
  })
  await ctx.engine.rights.refresh()
  return row
}

const emit = (ctx: Context, type: string, row: ApiKeyRow): Promise<void> =>
  ctx.emit({
    type,
    channels: [`user:${row.account_id}`],
    resource: { type: 'api_key', id: row.id },
    data: { id: row.id, name: row.name },
  })

/** Returns the caller's own key, or one restricted to a workspace the caller manages. */
async function found(ctx: Context, id: Id): Promise<ApiKeyRow> {
  const row = await apiKeyStore.getForUpdate(ctx.db, id)
  const mayKnow =
    row !== undefined &&
    (row.account_id === ctx.principal.accountId || (row.workspace_id !== null && manages(ctx, row.workspace_id)))
  return mayKnow ? row : refuse('not_found', { param: 'id' })
}

function manages({ principal }: Context, workspaceId: Id): boolean {
  const place = principal.memberships.get(workspaceId)
  return place !== undefined && atLeast(place.role, 'admin') && place.permissions === null
}

async function usable(ctx: Context, id: Id): Promise<ApiKeyRow> {
  const row = await found(ctx, id)
  if (row.revoked_at !== null)
    refuse('invalid_state', {
      message: 'The key was revoked. Create a new one.',
      details: { status: 'revoked', allowed: [] },
    })
  return row
}

const stored = (secret: string) => ({
  key_hash: hashSecret(secret),
  prefix: secret.slice(0, 11),
  last4: secret.slice(-4),
})

const expand = (given: readonly string[]): Scope[] => {
  const granted = grants(given.includes('*') ? allScopes : given)
  return allScopes.filter((scope) => granted.has(scope))
}

async function spentOf(ctx: Context, row: ApiKeyRow): Promise<Nano> {
  const spent = await ctx.engine.ledger.readSpends([{ id: row.id, period: row.spend_cap_period }])
  return spent.get(row.id) ?? 0n
}

const show = (ctx: Context, row: ApiKeyRow, spent: Nano): z.output<typeof ApiKey> => ({
  id: row.id,
  created_by: row.account_id,
  name: row.name,
  prefix: row.prefix,
  last4: row.last4,
  scopes: row.scopes,
  workspace_id: row.workspace_id,
  version: row.version,
  status:
    row.revoked_at !== null ? 'revoked' : row.expires_at !== null && row.expires_at <= ctx.now() ? 'expired' : 'active',
  expires_at: isoOrNull(row.expires_at),
  revoked_at: isoOrNull(row.revoked_at),
  last_used_at: isoOrNull(row.last_used_at),
  spend_cap_usd: usdOrNull(row.spend_cap_nano),
  spend_cap_period: row.spend_cap_period,
  spent_usd: toUsd(spent),
  allowed_models: row.allowed_models,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

export const cappedKeys = (db: Db) => apiKeyStore.capped(db, 24)
