import type { z } from 'zod'
import { placeIn } from '#authz/resources.ts'
import type { Context } from '#infra/context.ts'
import { keptRequestsFrom } from '#infra/request-log/request-log.ts'
import type { Page } from '#core/answers.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { atLeast } from '#core/scopes.ts'
import type { LoggedRequest, RequestTrace } from '../contract-requests.ts'
import { isInstanceAdmin } from '../endpoints/administer.ts'
import { viewOf } from '../usage/report.ts'
import { type RequestFilters, requestStore } from './request-store.ts'
import { showRequest, showTrace } from './show-request.ts'

interface Query extends RequestFilters {
  workspace_id?: Id | undefined
  instance?: boolean | undefined
  cursor?: string | undefined
  limit: number
}

export async function listRequests(
  ctx: Context,
  { workspace_id, instance, cursor, limit, ...filters }: Query,
): Promise<Page<z.output<typeof LoggedRequest>>> {
  const { whose: requestedOwner, of } = viewOf(ctx, workspace_id, instance === true, 'owner')
  const { memberships } = ctx.principal
  // After leaving a workspace, a user sees none of its requests, not even their own.
  const whose = of === 'account' ? { workspaceIds: [...memberships.keys()], ...requestedOwner } : requestedOwner
  const cursorFilters = { ...requestedOwner, ...filters }
  const before = positionOf('request_log', cursorFilters, cursor)
  await flushPending(ctx)
  const rows = await requestStore.list(ctx.db, whose, filters, {
    keptFrom: oldestRequestId(ctx),
    before: (before?.[0] as Id) ?? null,
    limit: limit + 1,
    reader: of === 'instance' ? null : ctx.principal.accountId,
  })
  return pageOf(rows, limit, ({ id }) => cursorOf('request_log', cursorFilters, [id]), showRequest)
}

/** Falls back to the metered call if the log has no entry: expired, or a media job. */
export async function getRequest(ctx: Context, id: Id): Promise<z.output<typeof RequestTrace>> {
  await flushPending(ctx)
  const reader = isInstanceAdmin(ctx) ? null : ctx.principal.accountId
  const row =
    (await requestStore.get(ctx.db, id, oldestRequestId(ctx), reader)) ??
    (await requestStore.ofCall(ctx.db, id, reader))
  if (row === null || !maySee(ctx, row)) return refuse('not_found', { param: 'id' })
  const calls = await requestStore.calls(ctx.db, [row.id, ...row.tried.map(({ call_id }) => call_id)])
  return showTrace(row, calls, row.account_id === ctx.principal.accountId)
}

const oldestRequestId = ({ engine }: Context): Id => keptRequestsFrom(engine.config.requestRetentionDays)

/** Flushes this process's pending writes, so the newest requests are found. */
const flushPending = async ({ engine }: Context): Promise<void> => {
  await Promise.all([engine.requestLog.flush(), engine.ledger.flush()])
}

function maySee(ctx: Context, { account_id, workspace_id }: { account_id: Id; workspace_id: Id }): boolean {
  const { accountId, credential, memberships } = ctx.principal
  const boundWorkspaceId = credential.kind === 'session' ? null : credential.workspaceId
  if (boundWorkspaceId !== null && boundWorkspaceId !== workspace_id) return false
  const isOwn = account_id === accountId && memberships.has(workspace_id)
  return isOwn || isInstanceAdmin(ctx) || owns(ctx, workspace_id)
}

function owns(ctx: Context, workspaceId: Id): boolean {
  try {
    const { role, permissions } = placeIn(ctx, workspaceId)
    return atLeast(role, 'owner') && (permissions === null || permissions.has('gateway:read'))
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}
