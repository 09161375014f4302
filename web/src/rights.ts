import { useQuery } from '@tanstack/react-query'
import { type Scope, atLeast, roleFor } from '#core/scopes.ts'
import type { Workspace } from './api.ts'
import { workspacesQuery } from './session.ts'

/** What the person may do in a workspace of theirs; the server judges it again at each call. */
export const may = ({ role, permissions }: Workspace, scope: Scope): boolean =>
  atLeast(role, roleFor(scope)) && (permissions === null || permissions.includes(scope))

export interface Place {
  /** Null: it is not theirs, or not known yet. */
  workspace: Workspace | null
  known: boolean
  may: (scope: Scope) => boolean
}

/** The person’s place in a workspace. Somewhere that is not theirs they have come to by a share, and the server says what it gives. */
export function usePlace(workspaceId: string | undefined): Place {
  const { data } = useQuery(workspacesQuery)
  const workspace = data?.find(({ id }) => id === workspaceId) ?? null
  return {
    workspace,
    known: data !== undefined && workspaceId !== undefined,
    may: (scope) => workspace !== null && workspace.status === 'active' && may(workspace, scope),
  }
}

/** The workspaces where the person may do something. */
export function usePlacesFor(scope: Scope): Workspace[] {
  const { data = [] } = useQuery(workspacesQuery)
  return data.filter((one) => one.status === 'active' && may(one, scope))
}
