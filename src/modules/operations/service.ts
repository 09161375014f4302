import type { Context, Engine } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import { every } from '#infra/jobs/schedules.ts'
import { sharedPlace, sharedThings } from '#authz/shares.ts'
import { finder } from '#core/context.ts'
import type { Bytes } from '#core/answers.ts'
import { type ErrorBody, refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { actorOf, isHeldToOne, membershipIn, reachableWorkspaces } from '#core/principal.ts'
import { operations as contract } from './contract.ts'
import type { Span } from '#core/time.ts'
import { tell, transition, wake } from './events.ts'
import { showOperation } from './show.ts'
import { type OperationRow, type Status, operations, over } from './store.ts'
import type { HasOperationWatch } from './watch.ts'

export { runOperations } from './run.ts'
export { type HasOperationWatch, OperationWatch } from './watch.ts'
export {
  type OperationKind,
  type Outcome,
  type Running,
  checkOperationRoom,
  defineOperation,
  startOperation,
} from './start.ts'

/**
 * An operation is visible only to its account, while the account has access to its workspace or chat. A key bound to a
 * workspace doesn't see operations without one.
 */
const operationFinder = finder('operation', async ({ db, principal }: Context, id) => {
  const row = await operations.find(db, id, principal.accountId)
  if (row === null || (row.workspace_id === null && isHeldToOne(principal))) return null
  const { workspace_id, chat_id, account_id, updated_at } = row
  const stranger = workspace_id !== null && membershipIn(principal, workspace_id) === null
  const sharedMembership =
    stranger && chat_id && (await sharedPlace(db, principal, 'chat', { id: chat_id, workspace_id }))
  const place = sharedMembership ? { ...sharedMembership, permissions: null } : null
  return { id, workspace_id, account_id, updated_at, place, row }
})

export const operationService = implementWith<Context<HasOperationWatch>>()(
  contract,
  {
    async list(ctx, { status, kind, cursor, limit }) {
      const { accountId, credential } = ctx.principal
      const of = { accountId, heldTo: credential.kind === 'session' ? null : credential.workspaceId, status, kind }
      const after = positionOf('operations', of, cursor)
      const { shared: chats } = await sharedThings(ctx.db, ctx.principal, 'chat:read')
      const rows = await operations.list(ctx.db, {
        accountId,
        workspaces: reachableWorkspaces(ctx.principal, 'operation:read'),
        chats,
        homeless: !isHeldToOne(ctx.principal),
        status,
        kind,
        before: after && String(after[0]),
        limit: limit + 1,
      })
      return pageOf(rows, limit, ({ id }) => cursorOf('operations', of, [id]), showOperation)
    },

    get: (ctx) => showOperation(operationFinder.of(ctx).row),

    async await(ctx, { id, since_status, timeout_seconds }) {
      const { row } = operationFinder.of(ctx)
      await statusOther(ctx, id, since_status ?? row.status, timeout_seconds * 1000)
      return showOperation((await operations.find(ctx.db, id, row.account_id)) ?? row)
    },

    async cancel(outer, { id }) {
      const updatedRow = await outer.transaction(async (ctx) => {
        const row = await operations.requestCancel(ctx.db, id)
        if (row) await tell(ctx.db, row, actorOf(ctx.principal))
        return row
      })
      if (updatedRow) {
        wake(outer.engine)
        return showOperation(updatedRow)
      }
      const { row: current } = operationFinder.of(outer)
      const row = (await operations.find(outer.db, id, current.account_id)) ?? current
      if (row.status === 'cancelled' || !over(row.status)) return showOperation(row)
      return refuse('invalid_state', {
        message: `The operation has already ended. Its status is ${row.status}.`,
        details: { status: row.status, allowed: [] },
      })
    },

    content(ctx) {
      const { row } = operationFinder.of(ctx)
      // Streamed content is readable while running and after a failure.
      const partial = row.content !== null && row.status !== 'succeeded'
      if (partial) return contentOf(row)
      if (!over(row.status)) return refuse('not_ready', { details: { status: row.status } })
      if (row.status !== 'succeeded')
        return refuse('invalid_state', {
          message: 'The operation didn’t succeed, so it has no content.',
          details: { status: row.status, allowed: [] },
        })
      if (row.content_expires_at !== null && row.content_expires_at <= ctx.now()) return refuse('content_expired')
      return contentOf(row)
    },
  },
  [operationFinder],
)

/** For operations that may fail. Successful ones report their own cost. */
export const operationCosts = (db: Db, id: Id, nano: Nano): Promise<void> => operations.costs(db, id, nano)

/** Running operations notice that they were deleted, and stop. */
export const forgetOperationsOf = (db: Db, chatIds: readonly Id[]): Promise<void> => operations.forgetOf(db, chatIds)

export async function cancelOperation(engine: Engine, id: Id): Promise<void> {
  await transition(engine, (db) => operations.requestCancel(db, id))
}

export const unfinishedOperationsOf = (db: Db, accountId: Id, period: Span): Promise<Id[]> =>
  operations.unfinishedOf(db, accountId, period)

/** In the order of `ids`. The caller checks permissions. */
export async function showOperations(db: Db, ids: readonly Id[]): Promise<ReturnType<typeof showOperation>[]> {
  const rows = new Map((ids.length === 0 ? [] : await operations.some(db, ids)).map((row) => [row.id, row]))
  return ids.flatMap((id) => rows.get(id) ?? []).map(showOperation)
}

/** Deleted operations count as canceled. */
export async function endedOperations(db: Db, ids: readonly Id[]): Promise<EndedOperation[]> {
  const rows = new Map((await operations.some(db, ids)).map((row) => [row.id, row]))
  return ids.flatMap((id): EndedOperation[] => {
    const row = rows.get(id)
    if (row === undefined) return [{ id, status: 'cancelled', result: null, error: null }]
    const { status, result, error } = row
    return over(status) ? [{ id, status, result, error: error as ErrorBody['error'] | null }] : []
  })
}
export interface EndedOperation {
  id: Id
  status: OperationRow['status']
  result: unknown
  error: ErrorBody['error'] | null
}

/** Resolves when the status changes or is final, on a timeout, or when the caller disconnects. */
async function statusOther(
  { engine, signal }: Context<HasOperationWatch>,
  id: Id,
  since: Status,
  ms: number,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  using _watch = engine.operationWatch.add(id, (state) => {
    if (state === null || state.status !== since || over(state.status)) resolve()
  })
  const timer = setTimeout(resolve, ms)
  const onAbort = () => resolve()
  if (signal.aborted) resolve()
  signal.addEventListener('abort', onAbort, { once: true })
  await promise
  signal.removeEventListener('abort', onAbort)
  clearTimeout(timer)
}

function contentOf({ content, content_type, content_file_id, result }: OperationRow): Bytes {
  if (content_file_id !== null)
    return { status: 302, headers: { location: `/v1/drive/files/${content_file_id}` }, body: null }
  const type = content === null ? 'application/json; charset=utf-8' : content_type!
  return {
    headers: {
      'content-type': type,
      'x-content-type-options': 'nosniff',
      'content-security-policy': `sandbox; default-src 'none'`,
      'content-disposition': /^text\/plain\b/.test(type) ? 'inline' : 'attachment',
    },
    body: content ?? JSON.stringify(result),
  }
}

export const operationSchedules = (engine: Context['engine']) => [
  every('operations.retain', 3_600, () => operations.retain(engine.postgres.db)),
]
