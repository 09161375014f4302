/** Computer permissions, derived from the caller's memberships, the computer's owner and its exposures. Pure. */
import { checkPlace, checkWritable } from '#authz/place.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Membership, type Principal, hasScope, membershipIn } from '#core/principal.ts'
import { CAPABILITIES, type Capability, type Role, type Scope, atLeast, roles } from '#core/scopes.ts'
import type { ComputerRow } from './store.ts'

/** The scope each capability requires. Viewers have no capabilities. */
const SCOPE: Record<Capability, Scope> = {
  exec: 'computer:exec',
  terminal: 'computer:exec',
  fs_read: 'computer:read',
  fs_write: 'computer:write',
  ports: 'computer:read',
  inference: 'computer:write',
  users: 'computer:write',
}

/** A workspace of the caller that owns the computer or has it exposed. */
interface Way {
  workspaceId: Id
  membership: Membership
  owns: boolean
  capabilities: readonly Capability[]
}

export function waysTo(principal: Principal, row: ComputerRow): Way[] {
  const ways: Way[] = []
  const own = membershipIn(principal, row.workspace_id)
  if (own) ways.push({ workspaceId: row.workspace_id, membership: own, owns: true, capabilities: CAPABILITIES })
  for (const { workspace_id: workspaceId, capabilities } of row.exposures) {
    const membership = membershipIn(principal, workspaceId)
    if (membership) ways.push({ workspaceId, membership, owns: false, capabilities })
  }
  return ways
}

/**
 * The highest role across all ways, for the endpoint check in `permit`. Services then call `checkManages` or
 * `checkMayUse`, which evaluate each way separately. Null: the caller has no access.
 */
export function placeWith(ways: readonly Way[]): Membership | null {
  if (ways.length === 0) return null
  const places = ways.map(({ membership }) => membership)
  const role = roles.findLast((one) => places.some((place) => place.role === one))!
  const narrowed = places.flatMap(({ permissions }) => (permissions === null ? [] : [...permissions]))
  const status = places.some((place) => place.status === 'active') ? 'active' : 'archived'
  return {
    role,
    permissions: places.some(({ permissions }) => permissions === null) ? null : new Set(narrowed),
    status,
  }
}

/** Refuses callers who can't manage the computer (owner, exposures, name). An exposure never grants this. */
export function checkManages(principal: Principal, row: ComputerRow, scope: Scope, role: Role): void {
  const own = membershipIn(principal, row.workspace_id)
  if (own === null)
    return refuse('insufficient_role', {
      message: 'This computer belongs to another owner, who shared it with your workspace. Only its owner can do this.',
    })
  checkPlace(own, scope, role)
  if (!scope.endsWith(':read')) checkWritable(own)
}

/** Admins vouch for what belongs to a workspace; in a personal workspace, its owner does. */
export const vouchesIn = (principal: Principal, workspaceId: Id): boolean => {
  const place = membershipIn(principal, workspaceId)
  return place !== null && atLeast(place.role, 'admin')
}

const uses = (
  { membership: { role, permissions, status }, capabilities }: Way,
  capability: Capability,
  scope: Scope = SCOPE[capability],
): boolean =>
  capabilities.includes(capability) &&
  status === 'active' &&
  atLeast(role, 'member') &&
  (permissions === null || permissions.has(scope))

/** The workspace in whose name the caller uses this capability, or null without access. */
export const workspaceFor = (principal: Principal, row: ComputerRow, capability: Capability): Id | null =>
  waysTo(principal, row).find((way) => uses(way, capability))?.workspaceId ?? null

/** Owner or exposure ∩ what the machine allows ∩ scopes. */
export const capabilitiesOf = (principal: Principal, row: ComputerRow): Capability[] => {
  const ways = waysTo(principal, row)
  return CAPABILITIES.filter(
    (capability) =>
      row.allows.includes(capability) &&
      hasScope(principal, SCOPE[capability]) &&
      ways.some((way) => uses(way, capability)),
  )
}

/**
 * Refuses callers without the capability and names who can grant it. `scope` overrides the capability's scope on
 * endpoints that only read.
 */
export function checkMayUse(
  principal: Principal,
  row: ComputerRow,
  capability: Capability,
  scope: Scope = SCOPE[capability],
): void {
  if (!hasScope(principal, scope))
    refuse('missing_scope', {
      message: `The key is missing the scope \`${scope}\`.`,
      details: { required_scope: scope },
    })
  const ways = waysTo(principal, row)
  if (!ways.some((way) => uses(way, capability, scope))) {
    const granting = ways.find((way) => way.capabilities.includes(capability))
    if (granting) {
      checkPlace(granting.membership, scope, 'member')
      checkWritable(granting.membership)
    }
    refuse('capability_denied', {
      message: `Your workspace isn’t allowed to use \`${capability}\` on this computer. Its owner can allow it.`,
      details: { capability, granted: [...new Set(ways.flatMap((way) => way.capabilities))] },
    })
  }
  if (!row.allows.includes(capability))
    refuse('capability_denied', {
      message: `The computer doesn’t allow \`${capability}\`. Run \`uk computer run --allow …\` on it.`,
      details: { capability, allows: row.allows },
    })
}
