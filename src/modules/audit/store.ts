import type { AuditRow } from '#authz/audit.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'

export interface AuditFilters {
  accountId?: Id | undefined
  action?: string | undefined
  subjectId?: string | undefined
}

export const auditStore = {
  /** Newest first. `workspaces`: null includes entries outside workspaces. */
  list(
    db: Db,
    workspaces: readonly Id[] | null,
    { accountId, action, subjectId }: AuditFilters,
    before: Id | null,
    limit: number,
  ): Promise<AuditRow[]> {
    let query = db.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit)
    if (workspaces !== null) query = query.where('workspace_id', 'in', workspaces.length > 0 ? [...workspaces] : [''])
    if (accountId !== undefined) query = query.where('account_id', '=', accountId)
    if (action !== undefined) query = query.where('action', '=', action)
    if (subjectId !== undefined) query = query.where('subject_id', '=', subjectId)
    if (before !== null) query = query.where('id', '<', before)
    return query.execute()
  },
}
