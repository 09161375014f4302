import { refuse } from '#core/errors.ts'
import type { Membership } from '#core/principal.ts'
import { type Role, type Scope, atLeast, roleFor } from '#core/scopes.ts'

export function checkPlace({ role, permissions }: Membership, scope: Scope | null, atLeastRole?: Role): void {
  const requiredRole = atLeastRole ?? (scope === null ? 'viewer' : roleFor(scope))
  if (!atLeast(role, requiredRole))
    refuse('insufficient_role', {
      message: `This requires the role ${requiredRole} in the workspace. Your role is ${role}.`,
      details: { required_role: requiredRole, role },
    })
  if (scope !== null && permissions !== null && !permissions.has(scope))
    refuse('insufficient_role', {
      message: `Your permissions in this workspace don’t include \`${scope}\`.`,
      details: { required_scope: scope, role },
    })
}

export function checkWritable({ status }: Membership): void {
  if (status === 'archived')
    refuse('invalid_state', {
      message: 'This workspace is archived, so it’s read-only.',
      details: { status, allowed: ['unarchive'] },
    })
}
