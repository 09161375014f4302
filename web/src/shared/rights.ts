import { useQuery } from '@tanstack/react-query'
import { type Scope, atLeast, roleFor } from '#core/scopes.ts'
import type { Workspace } from './api.ts'
import { workspacesQuery } from './session.ts'

/** The person's permissions in one of their workspaces. The server checks them again on every call. */
export const may = ({ role, permissions }: Workspace, scope: Scope): boolean =>
  atLeast(role, roleFor(scope)) && (permissions === null || permissions.includes(scope))

export interface Place {
  /** Null: not a member, or not loaded yet. */
  workspace: Workspace | null
  known: boolean
  may: (scope: Scope) => boolean
}

/**
 * The person's membership of a workspace. Resources in other workspaces reached them through a share; the server
 * decides what it allows.
 */
export function usePlace(workspaceId: string | undefined): Place {
  const { data } = useQuery(workspacesQuery)
  const workspace = data?.find(({ id }) => id === workspaceId) ?? null
  return {
    workspace,
    known: data !== undefined && workspaceId !== undefined,
    may: (scope) => workspace !== null && workspace.status === 'active' && may(workspace, scope),
  }
}

export function usePlacesFor(scope: Scope): Workspace[] {
  const { data = [] } = useQuery(workspacesQuery)
  return data.filter((one) => one.status === 'active' && may(one, scope))
}
