/**
 * Rights to see and change chats, agents and workspaces, said once more as simply as can be: each rule answers the
 * status that a call gets. Written from the contract, not from the code under test.
 */
export type Role = 'viewer' | 'member' | 'admin' | 'owner'
export type Kind = 'chat' | 'agent'
/** A person, by their place among the people of the play. */
export type Who = number

export interface Place {
  role: Role
  /** Null is all of the role. */
  permissions: readonly string[] | null
}
export interface Workspace {
  id: string
  personal: boolean
  archived: boolean
  members: Map<Who, Place>
}
/** A message, by what it says: its sender's words, or the answer to them. */
export interface Said {
  parent: number | null
  text: string
  /** As the server calls it; null in a copy. */
  id: string | null
}
export interface Thing {
  id: string
  kind: Kind
  workspace: Workspace
  status: 'active' | 'archived' | 'trashed'
  from: 'active' | 'archived'
  agent: string | null
  messages: Said[]
  head: number | null
}
export interface Share {
  id: string
  thing: Thing
  to: Who | Workspace
  access: 'view' | 'edit'
}
export interface World {
  workspaces: Workspace[]
  things: Map<string, Thing>
  shares: Share[]
}

const ORDER: readonly Role[] = ['viewer', 'member', 'admin', 'owner']
const atLeast = (own: Role, needed: Role): boolean => ORDER.indexOf(own) >= ORDER.indexOf(needed)
const has = ({ permissions }: Place, scope: string): boolean =>
  permissions === null || permissions.includes(scope) || permissions.includes(scope.replace(/:read$/, ':write'))
const allows = (place: Place, scope: string, role: Role): boolean => atLeast(place.role, role) && has(place, scope)

/** The status of a call that is not refused. */
const OK = 0

export function readStatus(world: World, thing: Thing, who: Who): number {
  const place = thing.workspace.members.get(who)
  if (place) return allows(place, `${thing.kind}:read`, 'viewer') ? OK : 403
  return thing.status !== 'trashed' && accessOf(world, thing, who) !== null ? OK : 404
}

/** The access that shares give people who are not members. A workspace's share is for all in it who may do so there. */
function accessOf({ shares }: World, thing: Thing, who: Who): Share['access'] | null {
  let access: Share['access'] | null = null
  for (const share of shares) {
    if (share.thing !== thing) continue
    if (typeof share.to === 'number') {
      if (share.to !== who) continue
      if (share.access === 'edit') return 'edit'
      access = 'view'
      continue
    }
    const place = share.to.members.get(who)
    if (!place || !has(place, `${thing.kind}:read`)) continue
    if (share.access === 'edit' && !share.to.archived && allows(place, `${thing.kind}:write`, 'member')) return 'edit'
    access = 'view'
  }
  return access
}

/** A change: by members who write, and by whom it is shared with to edit where `onShare` says so. */
export function changeStatus(
  world: World,
  thing: Thing,
  who: Who,
  { scope = `${thing.kind}:write`, onShare = false, inTrash = false } = {},
): number {
  const place = thing.workspace.members.get(who)
  if (!place) {
    const access = thing.status === 'trashed' ? null : accessOf(world, thing, who)
    if (access === null) return 404
    if (!onShare || access === 'view') return 403
  } else if (!allows(place, scope, 'member')) return 403
  if (thing.workspace.archived) return 409
  return thing.status === 'trashed' && !inTrash ? 409 : OK
}

/** The status for something new of this kind in a workspace. */
export function targetStatus(workspace: Workspace, who: Who, kind: Kind): number {
  const place = workspace.members.get(who)
  if (!place) return 404
  if (!allows(place, `${kind}:write`, 'member')) return 403
  return workspace.archived ? 409 : OK
}

/** An agent that is named for a chat. */
export function namedStatus(agent: Thing, who: Who): number {
  const place = agent.workspace.members.get(who)
  if (!place || agent.status === 'trashed') return 404
  return has(place, 'agent:read') ? OK : 403
}

/** Whether the agent of a chat answers who sends there: one of elsewhere only who may read it, be it by a share. */
export function answers(world: World, chat: Thing, who: Who): boolean {
  if (chat.agent === null) return true
  const agent = world.things.get(chat.agent)
  if (agent === undefined || agent.status === 'trashed') return false
  return agent.workspace === chat.workspace || readStatus(world, agent, who) === OK
}

export function shareStatus(world: World, { thing, to, access }: Omit<Share, 'id'>, by: Who): number {
  const place = thing.workspace.members.get(by)
  if (!place) return 404
  const [scope, role] = access === 'edit' ? (['write', 'member'] as const) : (['read', 'viewer'] as const)
  if (!allows(place, `${thing.kind}:${scope}`, role) || !allows(place, 'share:write', 'member')) return 403
  if (thing.status === 'trashed' || thing.workspace.archived) return 409
  if (typeof to !== 'number') {
    if (!to.members.has(by)) return 404
  } else if (to === by) return 400
  else if (!world.workspaces.some(({ members }) => members.has(by) && members.has(to))) return 404
  return world.shares.some((share) => share.thing === thing && share.to === to) ? 409 : OK
}

export function unshareStatus({ thing, to }: Share, by: Who): number {
  if (to === by) return OK
  const place = thing.workspace.members.get(by)
  if (!place) return 404
  if (!allows(place, `${thing.kind}:write`, 'member') || !allows(place, 'share:write', 'member')) return 403
  return thing.status === 'trashed' ? 409 : OK
}

export function inviteStatus(workspace: Workspace, by: Who, who: Who, given: Place): number {
  const place = workspace.members.get(by)
  if (!place) return 404
  if (!allows(place, 'member:write', 'admin')) return 403
  if (workspace.archived || workspace.personal) return 409
  if (!atLeast(place.role, given.role)) return 403
  const beyond =
    given.permissions === null ? place.permissions !== null : !given.permissions.every((one) => has(place, one))
  if (beyond) return 403
  return workspace.members.has(who) ? 409 : OK
}

export function removeStatus(workspace: Workspace, by: Who, who: Who): number {
  const place = workspace.members.get(by)
  if (!place) return 404
  const target = workspace.members.get(who)
  if (!target) return has(place, 'member:write') ? 404 : 403
  if (by !== who && (!allows(place, 'member:write', 'admin') || !atLeast(place.role, target.role))) return 403
  const owners = [...workspace.members.values()].filter(({ role }) => role === 'owner').length
  return target.role === 'owner' && owners === 1 ? 409 : OK
}

export function keepStatus(workspace: Workspace, by: Who, role: 'admin' | 'owner'): number {
  const place = workspace.members.get(by)
  if (!place) return 404
  if (!allows(place, 'workspace:write', role)) return 403
  return workspace.personal ? 409 : OK
}

export function workspaceStatus({ members }: Workspace, who: Who): number {
  const place = members.get(who)
  if (!place) return 404
  return has(place, 'workspace:read') ? OK : 403
}

/** Whether `/shared-with-me` tells of it: to who may read it by this share, and may read shares where it was given to. */
export function isTold(world: World, { thing, to }: Share, who: Who): boolean {
  if (thing.status === 'trashed') return false
  if (typeof to === 'number') return to === who
  const place = to.members.get(who)
  return place !== undefined && has(place, 'share:read') && has(place, `${thing.kind}:read`)
}

/** From the root to the head. */
export function pathOf({ messages, head }: Thing): Said[] {
  const path: Said[] = []
  for (let at = head; at !== null; at = messages[at]!.parent) path.unshift(messages[at]!)
  return path
}
