import { isDeepStrictEqual } from 'node:util'
import { revokeKeysWithin } from '#modules/api-keys/service.ts'
import { dropFilesOf, storedByWorkspace } from '#modules/drive/service.ts'
import { type Context, implement } from '#infra/context.ts'
import { writeOutboxAll } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import { rightsChanged } from '#authz/rights.ts'
import { finder } from '#core/context.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { type Cap, type Nano, nanoOrNull, usdOrNull } from '#core/money.ts'
import type { Span } from '#core/time.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { checkPlace, checkWritable } from '#authz/place.ts'
import { type Membership, reachableWorkspaces } from '#core/principal.ts'
import { changeRights, changeWithin, lockWorkspace, refusePersonal, recordRightsChange } from './change.ts'
import { workspaces } from './contract.ts'
import { type Grant, placeOf } from './grant.ts'
import { invitationStore } from './invitation-store.ts'
import { memberStore } from './member-store.ts'
import { showWorkspace } from './show.ts'
import { type CountedWorkspace, workspaceStore } from './store.ts'

export const MAX_WORKSPACES = 1000

const workspace = finder('workspace', async (ctx: Context, id) => (await workspaceStore.get(ctx.db, id)) ?? null)

export const workspaceService = implement(
  workspaces,
  {
    async list(ctx, { status, cursor, limit }) {
      const ids = reachableWorkspaces(ctx.principal, 'workspace:read')
      const before = positionOf('workspaces', status, cursor)
      const rows = await workspaceStore.list(ctx.db, ids, status, (before?.[0] as Id) ?? null, limit + 1)
      const spent = await spentIn(ctx, rows)
      return pageOf(
        rows,
        limit,
        ({ id }) => cursorOf('workspaces', status, [id]),
        (row) => showWorkspace(row, ctx.principal.memberships.get(row.id)!, spent.get(row.id) ?? 0n),
      )
    },

    get: (ctx) => show(ctx, workspace.of(ctx), ctx.workspace!.membership),

    async create(ctx, { name, description, spend_cap_usd, spend_cap_period }) {
      const { accountId } = ctx.principal
      const id = newId()
      return changeRights(ctx, async (ctx) => {
        await checkRoomFor(ctx, accountId)
        await workspaceStore.insert(ctx.db, {
          id,
          name,
          description,
          kind: 'team',
          created_by: accountId,
          spend_cap_nano: nanoOrNull(spend_cap_usd),
          spend_cap_period,
        })
        await joinAs(ctx, id, accountId, { role: 'owner', permissions: null })
        await recordRightsChange(ctx, {
          action: 'workspace.created',
          workspaceId: id,
          id,
          accountIds: [accountId],
          data: { name, status: 'active' },
        })
        return showWorkspace(await read(ctx, id), { role: 'owner', permissions: null }, 0n)
      })
    },

    async update(ctx, { id, name, description, spend_cap_usd, spend_cap_period, keys, allowed_models }) {
      const row = await changeRights(ctx, async (ctx) => {
        const before = await lockWorkspace(ctx, id)
        checkUnchanged(ctx, before.updated_at)
        checkWritable({ ...ctx.workspace!.membership, status: before.status })
        const after = {
          name: name ?? before.name,
          description: description === undefined ? before.description : description,
          spend_cap_nano: spend_cap_usd === undefined ? before.spend_cap_nano : nanoOrNull(spend_cap_usd),
          spend_cap_period: spend_cap_period ?? before.spend_cap_period,
          keys: keys ?? before.keys,
          allowed_models: allowed_models === undefined ? before.allowed_models : allowed_models,
        }
        const fields = Object.keys(after) as (keyof typeof after)[]
        const changed = (field: keyof typeof after): boolean => !isDeepStrictEqual(after[field], before[field])
        if (fields.some(changed)) {
          await workspaceStore.update(ctx.db, id, after)
          const budget = { spend_cap_usd: usdOrNull(after.spend_cap_nano), spend_cap_period: after.spend_cap_period }
          const rules = { keys: after.keys, allowed_models: after.allowed_models }
          const held = (['spend_cap_nano', 'spend_cap_period', 'keys', 'allowed_models'] as const).some(changed)
          await recordRightsChange(ctx, {
            action: 'workspace.updated',
            workspaceId: id,
            id,
            // The limits now apply to every member's calls.
            accountIds: held ? await memberStore.accountIds(ctx.db, id) : [],
            data: { name: after.name, status: before.status, ...budget, ...rules },
            details: {
              name_before: before.name,
              spend_cap_usd_before: usdOrNull(before.spend_cap_nano),
              spend_cap_period_before: before.spend_cap_period,
              keys_before: before.keys,
              allowed_models_before: before.allowed_models,
            },
          })
        }
        return read(ctx, id)
      })
      return show(ctx, row, ctx.workspace!.membership)
    },

    async delete(ctx, { id, confirm }) {
      await changeWithin(ctx, async (ctx, { workspace, me }) => {
        checkUnchanged(ctx, workspace.updated_at)
        checkPlace(placeOf(me, workspace.status), 'workspace:write', 'owner')
        refusePersonal(workspace, 'A personal workspace can’t be deleted. It’s deleted together with its account.')
        if (confirm !== workspace.name)
          refuse('invalid_parameter', {
            param: 'confirm',
            message:
              'This deletes everything in the workspace permanently. To confirm, send its exact name in `confirm`.',
          })
        const accountIds = await memberStore.accountIds(ctx.db, id)
        const contents = await workspaceStore.contents(ctx.db, id)
        const fileBytes = (await storedByWorkspace(ctx.db, [id])).get(id) ?? 0n
        const keys = await revokeKeysWithin(ctx, id)
        await dropFilesOf(ctx, id)
        await workspaceStore.delete(ctx.db, id)
        // Its provider endpoints were deleted too: processes drop cached copies and end their streams.
        await rightsChanged(ctx.db, [id])
        const removed = { ...contents, file_bytes: Number(fileBytes), members: accountIds.length, keys }
        await recordRightsChange(ctx, {
          action: 'workspace.deleted',
          workspaceId: id,
          id,
          accountIds,
          data: { name: workspace.name, removed },
        })
      })
      return { id }
    },

    archive: (ctx) => put(ctx, 'archived'),
    unarchive: (ctx) => put(ctx, 'active'),
  },
  [workspace],
)

/** Archives or restores the workspace, which changes every member's permissions. */
async function put(ctx: Context, status: 'archived' | 'active') {
  const row = await changeWithin(ctx, async (ctx, { workspace: before, me }) => {
    checkUnchanged(ctx, before.updated_at)
    checkPlace(placeOf(me, before.status), 'workspace:write', 'admin')
    refusePersonal(before, 'A personal workspace can’t be archived.')
    if (before.status !== status) {
      await workspaceStore.update(ctx.db, before.id, { status, archived_at: status === 'archived' ? ctx.now() : null })
      await recordRightsChange(ctx, {
        action: status === 'archived' ? 'workspace.archived' : 'workspace.unarchived',
        workspaceId: before.id,
        id: before.id,
        accountIds: await memberStore.accountIds(ctx.db, before.id),
        data: { name: before.name, status },
      })
    }
    return read(ctx, before.id)
  })
  return show(ctx, row, ctx.workspace!.membership)
}

const show = async (ctx: Context, row: CountedWorkspace, place: Pick<Membership, 'role' | 'permissions'>) =>
  showWorkspace(row, place, (await spentIn(ctx, [row])).get(row.id) ?? 0n)

/** Spending per workspace in the current budget period. Not within a transaction, because it queries the ledger. */
const spentIn = (ctx: Context, rows: readonly CountedWorkspace[]): Promise<Map<Id, Nano>> =>
  ctx.engine.ledger.readSpends(rows.map(({ id, spend_cap_period: period }) => ({ id, period })))

function checkUnchanged({ unchangedSince }: Context, updatedAt: Date): void {
  if (unchangedSince !== null && unchangedSince.getTime() !== updatedAt.getTime()) refuse('precondition_failed')
}

const read = async (ctx: Context, id: Id): Promise<CountedWorkspace> =>
  (await workspaceStore.get(ctx.db, id)) ?? refuse('not_found', { param: 'id' })

export async function checkRoomFor(ctx: Context, accountId: Id): Promise<void> {
  if ((await memberStore.countOf(ctx.db, accountId)) >= MAX_WORKSPACES)
    refuse('limit_reached', {
      message: `You can be a member of up to ${MAX_WORKSPACES} workspaces.`,
      details: { limit: MAX_WORKSPACES },
    })
}

export const joinAs = (
  ctx: Context,
  workspace_id: Id,
  account_id: Id,
  { role, permissions }: Grant,
  {
    created_by = ctx.principal.accountId,
    budget,
  }: { created_by?: Id | null; budget?: { nano: Nano | null; period: Cap['period'] } } = {},
) =>
  memberStore.insert(ctx.db, {
    id: newId(),
    workspace_id,
    account_id,
    role,
    permissions: permissions && [...permissions],
    spend_cap_nano: budget?.nano ?? null,
    spend_cap_period: budget?.period ?? 'month',
    created_by,
  })

export async function invitationOf(
  db: Db,
  id: Id,
): Promise<{
  email: string
  workspaceId: Id
  workspace: string
  role: string
  createdBy: Id | null
  acceptedBy: Id | null
} | null> {
  const row = await invitationStore.get(db, id)
  const workspace = row && (await workspaceStore.get(db, row.workspace_id))
  return row && workspace
    ? {
        email: row.email,
        workspaceId: workspace.id,
        workspace: workspace.name,
        role: row.role,
        createdBy: row.created_by,
        acceptedBy: row.accepted_by,
      }
    : null
}

export async function revokeInvitationsOf(db: Db, accountId: Id, made: Span): Promise<number> {
  const rows = await invitationStore.revokeBy(db, accountId, made)
  const events = rows.map(({ id, workspace_id, role, status }) => ({
    type: 'invitation.revoked',
    channels: [`workspace:${workspace_id}`],
    resource: { type: 'invitation', id },
    data: { id, workspace_id, role, status },
  }))
  await writeOutboxAll(db, events, null)
  return rows.length
}

export const workspaceName = async (db: Db, id: Id): Promise<string | null> =>
  (await workspaceStore.get(db, id))?.name ?? null

export const budgetedMembers = (db: Db) => memberStore.budgeted(db)

export const budgetedWorkspaces = (db: Db) => workspaceStore.budgeted(db)
