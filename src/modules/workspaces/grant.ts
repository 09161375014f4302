import { refuse } from '#core/errors.ts'
import type { Membership } from '#core/principal.ts'
import { type Role, atLeast, grants } from '#core/scopes.ts'

export interface Grant {
  role: Role
  permissions: readonly string[] | null
}

/** Rejects a grant beyond the giver's own: a stronger role or a missing scope. */
export function checkGrant(own: Grant, given: Grant): void {
  if (!atLeast(own.role, given.role))
    refuse('insufficient_role', {
      param: 'role',
      message: `Only ${given.role === 'owner' ? 'an owner' : `members with the role ${given.role} or higher`} can give the role ${given.role}. Your role is ${own.role}.`,
      details: { required_role: given.role, role: own.role },
    })
  const lacked = firstBeyond(own, given)
  if (lacked !== null)
    refuse('insufficient_role', {
      param: 'permissions',
      message: `Your permissions in this workspace are restricted. You can grant only permissions you have, and ${lacked} isn’t one of them.`,
      details: { role: own.role },
    })
}

/** The first granted permission the giver lacks, or null. */
function firstBeyond(own: Grant, given: Grant): string | null {
  if (own.permissions === null) return null
  if (given.permissions === null) return 'all of the role'
  const owned = grants(own.permissions)
  return [...grants(given.permissions)].find((scope) => !owned.has(scope)) ?? null
}

/** Rejects changing or removing a member with a higher role. */
export function checkAbove(own: Grant, target: Grant): void {
  if (!atLeast(own.role, target.role))
    refuse('insufficient_role', {
      message: `This member’s role is ${target.role}, and yours is ${own.role}. You can’t change members with a higher role.`,
      details: { required_role: target.role, role: own.role },
    })
}

/** Whether a change adds permissions. Only those must be within what the caller may grant. */
export const isRaise = (before: Grant, after: Grant): boolean =>
  !atLeast(before.role, after.role) || firstBeyond(before, after) !== null

export function mayGrant(own: Grant | undefined, given: Grant): boolean {
  return (
    own !== undefined && atLeast(own.role, 'admin') && atLeast(own.role, given.role) && firstBeyond(own, given) === null
  )
}

export const placeOf = (grant: Grant, status: Membership['status']): Membership => ({
  role: grant.role,
  permissions: grant.permissions && grants(grant.permissions),
  status,
})
