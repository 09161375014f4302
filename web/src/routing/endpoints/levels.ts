import type { Endpoint, Workspace } from '../../api.ts'
import { isManaged } from '../../session.ts'
import { ownerOf } from './endpoint-draft.ts'

/** The endpoints of one owner, which have one order. */
export interface Level {
  /** The owner: `mine`, or the id of a workspace. */
  owner: string
  /** The name of the workspace; null: the person’s account. */
  workspace: string | null
  endpoints: Endpoint[]
  /** Whether the viewer may move and change them. */
  changes: boolean
}

export interface Levels {
  /** The levels that are asked first: the account’s own, then its personal workspace’s for what it has not. */
  own: Level[]
  instance: Endpoint[]
  /** The levels of further workspaces, the oldest first. */
  further: Level[]
}

/**
 * The endpoints by owner, in the order in which the router asks them for a person who works in no further workspace.
 */
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
