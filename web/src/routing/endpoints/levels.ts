import type { Endpoint, Workspace } from '../../shared/api.ts'
import { isManaged } from '../../shared/session.ts'
import { ownerOf } from './endpoint-draft.ts'

/** The endpoints of one owner, which share one order. */
export interface Level {
  owner: string
  workspace: string | null
  endpoints: Endpoint[]
  changes: boolean
}

export interface Levels {
  /** The levels tried first: the account's own, then those of its personal workspace. */
  own: Level[]
  instance: Endpoint[]
  further: Level[]
}

/** Groups endpoints by owner, in routing order for calls outside of team workspaces. */
export function levelsOf(endpoints: readonly Endpoint[], workspaces: readonly Workspace[]): Levels {
  const byOwner = Map.groupBy(endpoints, ownerOf)
  const of = (workspace: Workspace): Level[] => {
    const theirs = byOwner.get(workspace.id)
    return theirs === undefined
      ? []
      : [{ owner: workspace.id, workspace: workspace.name, endpoints: theirs, changes: isManaged(workspace) }]
  }
  const mine = byOwner.get('mine')
  const own: Level[] = mine ? [{ owner: 'mine', workspace: null, endpoints: mine, changes: true }] : []
  const [personal, others] = [true, false].map((is) => workspaces.filter(({ kind }) => (kind === 'personal') === is))
  return {
    own: [...own, ...personal!.flatMap(of)],
    instance: byOwner.get('instance') ?? [],
    further: others!.toSorted((a, b) => (a.id < b.id ? -1 : 1)).flatMap(of),
  }
}
