/** Computer permissions, derived from memberships, the owner and exposures. Pure. */
import { checkPlace, checkWritable } from '#authz/place.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Membership, type Principal, hasScope, membershipIn } from '#core/principal.ts'
import { CAPABILITIES, type Capability, type Role, type Scope, atLeast, roles } from '#core/scopes.ts'
import type { ComputerRow } from './store.ts'

/** Viewers have no capabilities. */
const SCOPE: Record<Capability, Scope> = {
  exec: 'computer:exec',
  terminal: 'computer:exec',
  fs_read: 'computer:read',
  fs_write: 'computer:write',
  ports: 'computer:read',
  inference: 'computer:write',
  users: 'computer:write',
}

interface AccessPath {
  workspaceId: Id
  membership: Membership
  owns: boolean
  capabilities: readonly Capability[]
}

export function accessPaths(principal: Principal, row: ComputerRow): AccessPath[] {
  const ways: AccessPath[] = []
  const own = membershipIn(principal, row.workspace_id)
  if (own) ways.push({ workspaceId: row.workspace_id, membership: own, owns: true, capabilities: CAPABILITIES })
  for (const { workspace_id: workspaceId, capabilities } of row.exposures) {
    const membership = membershipIn(principal, workspaceId)
    if (membership) ways.push({ workspaceId, membership, owns: false, capabilities })
  }
  return ways
}

/** The highest role of all ways, for `permit`. `checkManages` and `checkMayUse` then evaluate each way separately. */
export function placeWith(ways: readonly AccessPath[]): Membership | null {
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

/** Exposures never grant management. */
export function checkManages(principal: Principal, row: ComputerRow, scope: Scope, role: Role): void {
  const own = membershipIn(principal, row.workspace_id)
  if (own === null)
    return refuse('insufficient_role', {
      message: 'This computer belongs to another owner, who shared it with your workspace. Only its owner can do this.',
    })
  checkPlace(own, scope, role)
  if (!scope.endsWith(':read')) checkWritable(own)
}

export const vouchesIn = (principal: Principal, workspaceId: Id): boolean => {
  const place = membershipIn(principal, workspaceId)
  return place !== null && atLeast(place.role, 'admin')
}

const uses = (
  { membership: { role, permissions, status }, capabilities }: AccessPath,
  capability: Capability,
  scope: Scope = SCOPE[capability],
): boolean =>
  capabilities.includes(capability) &&
  status === 'active' &&
  atLeast(role, 'member') &&
  (permissions === null || permissions.has(scope))

export const workspaceFor = (principal: Principal, row: ComputerRow, capability: Capability): Id | null =>
  accessPaths(principal, row).find((way) => uses(way, capability))?.workspaceId ?? null

/** The caller's capabilities: owner or exposure ∩ what the machine allows ∩ scopes. */
export const capabilitiesOf = (principal: Principal, row: ComputerRow): Capability[] => {
  const ways = accessPaths(principal, row)
  return CAPABILITIES.filter(
    (capability) =>
      row.allows.includes(capability) &&
      hasScope(principal, SCOPE[capability]) &&
      ways.some((way) => uses(way, capability)),
  )
}

/** The refusal names who can grant the capability. `scope`: for endpoints that only read. */
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
  const ways = accessPaths(principal, row)
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
