import type { Id } from '#core/ids.ts'
import { type Membership, type Principal, membershipIn } from '#core/principal.ts'
import { atLeast } from '#core/scopes.ts'
import { INSTANCE } from '../store.ts'

/** The owners whose endpoints a caller may use. */
export interface UsableOwners {
  /** The caller's account and the workspace that it works in, in the order in which they serve it. */
  own: Id[]
  further: Id[]
}

/**
 * The workspace that the credential is bound to, then the account's own and its personal workspace; a key of one
 * workspace, and what it starts in the background, gets that one's alone, for the key may be in other hands. An unbound
 * caller reaches further workspaces too.
 */
export function usableOwnersOf(principal: Principal): UsableOwners {
  const { accountId, personalWorkspaceId, credential, memberships } = principal
  const bound = credential.kind === 'session' ? null : credential.workspaceId
  const usable = (id: Id): boolean => {
    const membership = membershipIn(principal, id)
    return membership !== null && mayRun(membership)
  }
  const personal = usable(personalWorkspaceId) ? [personalWorkspaceId] : []
  if (bound === null)
    return {
      own: [accountId, ...personal],
      // The oldest first: one that is joined later changes nothing.
      further: [...memberships.keys()].filter((id) => id !== personalWorkspaceId && usable(id)).toSorted(),
    }
  if (bound === personalWorkspaceId) return { own: [accountId, ...personal], further: [] }
  const there = usable(bound) ? [bound] : []
  return { own: credential.kind === 'server' && credential.ownToo ? [...there, accountId] : there, further: [] }
}

/** Whether what this owner has is the caller's to use; undefined: nobody's. */
export function mayUse(principal: Principal, ownerId: Id | undefined): boolean {
  if (ownerId === undefined || ownerId === INSTANCE) return true
  const { own, further } = usableOwnersOf(principal)
  return own.includes(ownerId) || further.includes(ownerId)
}

const mayRun = ({ role, permissions, status }: Membership): boolean =>
  status === 'active' &&
  atLeast(role, 'member') &&
  (permissions === null ||
    permissions.has('gateway:run') ||
    permissions.has('inference:run') ||
    permissions.has('chat:run'))
