import type { AuditRow } from '#authz/audit.ts'
import { type Context, implement } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { isHeldToOne, membershipIn, reachableWorkspaces } from '#core/principal.ts'
import { iso } from '#core/time.ts'
import { audit } from './contract.ts'
import { auditStore } from './store.ts'

export const auditService = implement(audit, {
  async list(ctx, { workspace_id, account_id, action, subject_id, cursor, limit }) {
    const workspaces = workspace_id === undefined ? whatTheyOwn(ctx) : [owned(ctx, workspace_id)]
    const filters = { accountId: account_id, action, subjectId: subject_id }
    const of = { caller: ctx.principal.accountId, workspaces, ...filters }
    const after = positionOf('audit', of, cursor)
    const rows = await auditStore.list(ctx.db, workspaces, filters, after && String(after[0]), limit + 1)
    return pageOf(rows, limit, ({ id }) => cursorOf('audit', of, [id]), show)
  },
})

/** Null: everything. An administrator's key or agent restricted to one workspace sees only what its owner may. */
function whatTheyOwn({ principal }: Context): Id[] | null {
  if (principal.administrator && !isHeldToOne(principal)) return null
  const reachable = reachableWorkspaces(principal, 'member:read')
  return reachable.filter((id) => membershipIn(principal, id)?.role === 'owner')
}

function owned(ctx: Context, workspaceId: Id): Id {
  const theirs = whatTheyOwn(ctx)
  if (theirs === null || theirs.includes(workspaceId)) return workspaceId
  if (membershipIn(ctx.principal, workspaceId) === null) return refuse('not_found', { param: 'workspace_id' })
  return refuse('insufficient_role', { message: 'Only an owner of the workspace can read its audit log.' })
}

function show({
  id,
  at,
  account_id,
  workspace_id,
  action,
  subject_type,
  subject_id,
  details,
  actor,
  request_id,
}: AuditRow) {
  const { via = null, ...more } = details
  return {
    id,
    created_at: iso(at),
    actor: {
      account_id,
      via: actor?.via ?? (typeof via === 'string' ? via : null),
      key_id: actor?.key_id ?? null,
      run_id: actor?.run_id ?? null,
      automation_id: actor?.automation_id ?? null,
    },
    workspace_id,
    action,
    subject: subject_type === null || subject_id === null ? null : { type: subject_type, id: subject_id },
    details: more,
    request_id,
  }
}
