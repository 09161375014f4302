import { type Context, implement } from '#engine/context.ts'
import { refuse } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { cursorOf, pageOf, positionOf } from '#kernel/paging.ts'
import { isInOneOf } from '#access/members.ts'
import { checkPlace, checkWritable } from '#access/place.ts'
import { reachableWorkspaces } from '#kernel/principal.ts'
import { type LockedWorkspace, changeWithin, refusePersonal, recordRightsChange } from './change.ts'
import { members } from './contract.ts'
import { type Grant, checkAbove, checkGrant, placeOf, isRaise } from './grant.ts'
import { type NamedMember, memberStore } from './member-store.ts'
import { checkRoomFor, joinAs } from './service.ts'
import { showMember } from './show.ts'

export const memberService = implement(members, {
  async list(ctx, { id, cursor, limit }) {
    const before = positionOf('members', id, cursor)
    const rows = await memberStore.list(ctx.db, id, (before?.[0] as Id) ?? null, limit + 1)
    return pageOf(rows, limit, (row) => cursorOf('members', id, [row.id]), showMember)
  },

  add: (ctx, { id, user_id, role, permissions }) =>
    changeWithin(ctx, async (ctx, locked) => {
      checkManager(locked)
      refusePersonal(locked.workspace, 'A personal workspace has one member. Create a workspace to work with others.')
      const given = { role, permissions: unique(permissions) }
      checkGrant(locked.me, given)
      await checkKnown(ctx, user_id)
      if (await memberStore.get(ctx.db, id, user_id))
        refuse('already_exists', { param: 'user_id', message: 'This user is a member already.' })
      await checkRoomFor(ctx, user_id)
      await joinAs(ctx, id, user_id, given)
      const member = await found(ctx, id, user_id)
      await tellOf(ctx, 'member.added', member)
      return showMember(member)
    }),

  update: (ctx, { id, memberId, role, permissions }) =>
    changeWithin(ctx, async (ctx, locked) => {
      checkManager(locked)
      const before = await found(ctx, id, memberId)
      const after: Grant = {
        role: role ?? before.role,
        permissions: permissions === undefined ? before.permissions : unique(permissions),
      }
      if (same(before, after)) return showMember(before)
      checkAbove(locked.me, before)
      if (isRaise(before, after)) checkGrant(locked.me, after)
      if (after.role !== 'owner' || after.permissions !== null) await checkNotLastOwner(ctx, before)
      await memberStore.update(ctx.db, before.id, {
        role: after.role,
        permissions: after.permissions && [...after.permissions],
      })
      const member = await found(ctx, id, before.id)
      await tellOf(ctx, 'member.updated', member, { role_before: before.role, permissions_before: before.permissions })
      return showMember(member)
    }),

  async remove(ctx, { id, memberId }) {
    await changeWithin(ctx, async (ctx, locked) => {
      const member = await found(ctx, id, memberId)
      if (member.id !== locked.me.id) {
        // Taking somebody's rights away goes in an archived workspace too.
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

/** Asks the membership that is held for what `permit` asked of the one that this process knew. */
export function checkManager({ me, workspace }: LockedWorkspace): void {
  const place = placeOf(me, workspace.status)
  checkPlace(place, 'member:write', 'admin')
  checkWritable(place)
}

const found = async (ctx: Context, workspaceId: Id, memberId: Id): Promise<NamedMember> =>
  (await memberStore.get(ctx.db, workspaceId, memberId)) ?? refuse('not_found', { param: 'memberId' })

/** An account that the caller meets in no workspace may as well not exist. */
async function checkKnown(ctx: Context, accountId: Id): Promise<void> {
  if (!(await isInOneOf(ctx.db, accountId, reachableWorkspaces(ctx.principal, 'member:read'))))
    refuse('not_found', {
      param: 'user_id',
      message: 'Nobody in the workspaces you share has this id. Invite them by e-mail instead.',
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
  { id, workspace_id, account_id, role, permissions }: NamedMember,
  details: Record<string, unknown> = {},
): Promise<void> =>
  recordRightsChange(ctx, {
    action,
    workspaceId: workspace_id,
    id,
    accountIds: [account_id],
    data: { user_id: account_id, role },
    details: { permissions, ...details },
  })
