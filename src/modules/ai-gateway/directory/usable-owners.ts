import type { Id } from '#core/ids.ts'
import { type Membership, type Principal, membershipIn } from '#core/principal.ts'
import { atLeast } from '#core/scopes.ts'
import { INSTANCE } from '../store.ts'

export interface UsableOwners {
  /** In order of precedence. */
  own: Id[]
  further: Id[]
}

/**
 * A key bound to another workspace, and its background work, get only that workspace, because someone else may have the
 * key.
 */
export function usableOwnersOf(principal: Principal): UsableOwners {
  const { accountId, personalWorkspaceId, credential, memberships } = principal
  const boundWorkspaceId = credential.kind === 'session' ? null : credential.workspaceId
  const usable = (id: Id): boolean => {
    const membership = membershipIn(principal, id)
    return membership !== null && mayRun(membership)
  }
  const personal = usable(personalWorkspaceId) ? [personalWorkspaceId] : []
  if (boundWorkspaceId === null)
    return {
      own: [accountId, ...personal],
      // Oldest first, so joining a workspace changes nothing.
      further: [...memberships.keys()].filter((id) => id !== personalWorkspaceId && usable(id)).toSorted(),
    }
  if (boundWorkspaceId === personalWorkspaceId) return { own: [accountId, ...personal], further: [] }
  const there = usable(boundWorkspaceId) ? [boundWorkspaceId] : []
  return { own: credential.kind === 'server' && credential.ownToo ? [...there, accountId] : there, further: [] }
}

/** Undefined: no owner, so anyone may use it. */
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
