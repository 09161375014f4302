import { isDeepStrictEqual } from 'node:util'
import { type Context, implement } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Nano, nanoOrNull, usdOrNull } from '#core/money.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { isInOneOf } from '#authz/members.ts'
import { checkPlace, checkWritable } from '#authz/place.ts'
import { reachableWorkspaces } from '#core/principal.ts'
import { atLeast } from '#core/scopes.ts'
import { type LockedWorkspace, changeWithin, refusePersonal, recordRightsChange } from './change.ts'
import { members } from './contract.ts'
import { type Grant, checkAbove, checkGrant, placeOf, isRaise } from './grant.ts'
import { type MemberRow, type NamedMember, memberStore } from './member-store.ts'
import { checkRoomFor, joinAs } from './service.ts'
import { showMember } from './show.ts'

export const memberService = implement(members, {
  async list(ctx, { id, cursor, limit }) {
    const before = positionOf('members', id, cursor)
    const rows = await memberStore.list(ctx.db, id, (before?.[0] as Id) ?? null, limit + 1)
    const spent = await spentOf(ctx, rows)
    return pageOf(
      rows,
      limit,
      (row) => cursorOf('members', id, [row.id]),
      (row) => showMember(row, spent(row)),
    )
  },

  async add(ctx, { id, user_id, role, permissions, spend_cap_usd, spend_cap_period: period }) {
    const member = await changeWithin(ctx, async (ctx, locked) => {
      checkManager(locked)
      refusePersonal(
        locked.workspace,
        'A personal workspace has only one member. Create a workspace to collaborate with others.',
      )
      const given = { role, permissions: unique(permissions) }
      checkGrant(locked.me, given)
      await checkKnown(ctx, user_id)
      if (await memberStore.get(ctx.db, id, user_id))
        refuse('already_exists', { param: 'user_id', message: 'This user is already a member.' })
      await checkRoomFor(ctx, user_id)
      await joinAs(ctx, id, user_id, given, { budget: { nano: nanoOrNull(spend_cap_usd), period } })
      const member = await found(ctx, id, user_id)
      await tellOf(ctx, 'member.added', member)
      return member
    })
    return shown(ctx, member)
  },

  async update(ctx, { id, memberId, role, permissions, ...limits }) {
    const member = await changeWithin(ctx, async (ctx, locked) => {
      checkManager(locked)
      const before = await found(ctx, id, memberId)
      const after: Grant = {
        role: role ?? before.role,
        permissions: permissions === undefined ? before.permissions : unique(permissions),
      }
      const held = limitsAfter(before, limits)
      const limited = !isDeepStrictEqual(held, limitsOf(before))
      if (same(before, after) && !limited) return before
      checkAbove(locked.me, before)
      if (limited) checkLimiter(locked, before)
      if (isRaise(before, after)) checkGrant(locked.me, after)
      if (after.role !== 'owner' || after.permissions !== null) await checkNotLastOwner(ctx, before)
      await memberStore.update(ctx.db, before.id, {
        role: after.role,
        permissions: after.permissions && [...after.permissions],
        ...held,
      })
      const member = await found(ctx, id, before.id)
      await tellOf(ctx, 'member.updated', member, {
        role_before: before.role,
        permissions_before: before.permissions,
        ...(limited && { limits_before: told(before) }),
      })
      return member
    })
    return shown(ctx, member)
  },

  async remove(ctx, { id, memberId }) {
    await changeWithin(ctx, async (ctx, locked) => {
      const member = await found(ctx, id, memberId)
      if (member.id !== locked.me.id) {
        // Removing permissions works in an archived workspace too.
        checkPlace(placeOf(locked.me, locked.workspace.status), 'member:write', 'admin')
        checkAbove(locked.me, member)
      }
      await checkNotLastOwner(ctx, member)
      await memberStore.delete(ctx.db, member.id)
      await tellOf(ctx, 'member.removed', member)
    })
    return { id: memberId }
  },
})

/** Repeats the check of `permit` on the locked membership, since the process's copy may be stale. */
export function checkManager({ me, workspace }: LockedWorkspace): void {
  const place = placeOf(me, workspace.status)
  checkPlace(place, 'member:write', 'admin')
  checkWritable(place)
}

type Limits = Pick<MemberRow, 'spend_cap_nano' | 'spend_cap_period' | 'keys' | 'allowed_models'>

const limitsOf = ({ spend_cap_nano, spend_cap_period, keys, allowed_models }: Limits): Limits => ({
  spend_cap_nano,
  spend_cap_period,
  keys,
  allowed_models,
})

const limitsAfter = (
  before: Limits,
  given: {
    spend_cap_usd?: number | null | undefined
    spend_cap_period?: Limits['spend_cap_period'] | undefined
    keys?: Limits['keys'] | undefined
    allowed_models?: string[] | null | undefined
  },
): Limits => ({
  spend_cap_nano: given.spend_cap_usd === undefined ? before.spend_cap_nano : nanoOrNull(given.spend_cap_usd),
  spend_cap_period: given.spend_cap_period ?? before.spend_cap_period,
  keys: given.keys ?? before.keys,
  allowed_models: given.allowed_models === undefined ? before.allowed_models : given.allowed_models,
})

/** Rejects members lifting their own limit; only an owner may. */
function checkLimiter({ me, workspace }: LockedWorkspace, member: NamedMember): void {
  refusePersonal(workspace, 'A personal workspace has only one member. Set a budget or rules on the workspace instead.')
  if (member.id === me.id && me.role !== 'owner')
    refuse('insufficient_role', {
      message: 'Only an owner of the workspace can change your budget and rules.',
      details: { required_role: 'owner', role: me.role },
    })
}

const told = ({ spend_cap_nano, ...rest }: Limits) => {
  const { spend_cap_period, keys, allowed_models } = rest
  return { spend_cap_usd: usdOrNull(spend_cap_nano), spend_cap_period, keys, allowed_models }
}

/**
 * Members' spending in the current period, if the caller may see it. Not within a transaction, because it queries
 * the ledger.
 */
async function spentOf(ctx: Context, rows: readonly NamedMember[]): Promise<(row: NamedMember) => Nano | null> {
  const { membership } = ctx.workspace!
  const manages = atLeast(membership.role, 'admin')
  const known = rows.filter(({ account_id }) => manages || account_id === ctx.principal.accountId)
  const spent = await ctx.engine.ledger.readSpends(known.map(({ id, spend_cap_period: period }) => ({ id, period })))
  const ids = new Set(known.map(({ id }) => id))
  return ({ id }) => (ids.has(id) ? (spent.get(id) ?? 0n) : null)
}

async function shown(ctx: Context, member: NamedMember) {
  const spent = await spentOf(ctx, [member])
  return showMember(member, spent(member))
}

const found = async (ctx: Context, workspaceId: Id, memberId: Id): Promise<NamedMember> =>
  (await memberStore.get(ctx.db, workspaceId, memberId)) ?? refuse('not_found', { param: 'memberId' })

/** Rejects accounts that share no workspace with the caller, as if they didn't exist. */
async function checkKnown(ctx: Context, accountId: Id): Promise<void> {
  if (!(await isInOneOf(ctx.db, accountId, reachableWorkspaces(ctx.principal, 'member:read'))))
    refuse('not_found', {
      param: 'user_id',
      message: 'No member of your workspaces has this ID. Invite them by email instead.',
    })
}

async function checkNotLastOwner(ctx: Context, { workspace_id, id }: NamedMember): Promise<void> {
  const owners = await memberStore.ownerIds(ctx.db, workspace_id)
  if (owners.length === 1 && owners[0] === id)
    refuse('last_owner', { message: 'This is the last owner of the workspace. Make another member an owner first.' })
}

const unique = (permissions: readonly string[] | null): string[] | null => permissions && [...new Set(permissions)]

const same = (a: Grant, b: Grant): boolean =>
  a.role === b.role && JSON.stringify(a.permissions) === JSON.stringify(b.permissions)

export const tellOf = (
  ctx: Context,
  action: 'member.added' | 'member.updated' | 'member.removed',
  member: NamedMember,
  details: Record<string, unknown> = {},
): Promise<void> =>
  recordRightsChange(ctx, {
    action,
    workspaceId: member.workspace_id,
    id: member.id,
    accountIds: [member.account_id],
    data: { user_id: member.account_id, role: member.role },
    details: { permissions: member.permissions, limits: told(member), ...details },
  })
