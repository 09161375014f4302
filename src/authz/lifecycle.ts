/** Implements the lifecycle endpoints (contract, part 5) declared by `lifecycle()` in core. */
import { sql } from 'kysely'
import { refuse } from '#core/errors.ts'
import { type ChannelKind, type EventType, eventTypes } from '#core/events.ts'
import type { Id } from '#core/ids.ts'
import type { Scope } from '#core/scopes.ts'
import type { Context, Engine } from '#infra/context.ts'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import { type ResourceRow, type Status, lockResource, updateResource } from './resources.ts'

export type Move = 'archive' | 'unarchive' | 'trash' | 'restore'
type Place = Pick<ResourceRow, 'status' | 'trashed_from'>

export function statusAfter({ status, trashed_from }: Place, move: Move): Status | null | 'refused' {
  if (move === 'restore') return status === 'trashed' ? (trashed_from ?? 'active') : null
  if (move === 'trash') return status === 'trashed' ? null : 'trashed'
  if (status === 'trashed') return 'refused'
  const target = move === 'archive' ? 'archived' : 'active'
  return status === target ? null : target
}

const allowedFrom = {
  active: ['archive', 'trash'],
  archived: ['unarchive', 'trash'],
  trashed: ['restore', 'permanent-delete'],
} as const satisfies Record<Status, string[]>

const past = { archive: 'archived', unarchive: 'unarchived', trash: 'trashed', restore: 'restored' } as const

export const lifecycleEvents = (kind: string, scope: Scope, channels: readonly ChannelKind[]): readonly EventType[] =>
  eventTypes(scope, channels, {
    [`${kind}.archived`]: `The ${kind} was archived.`,
    [`${kind}.unarchived`]: `The ${kind} was unarchived.`,
    [`${kind}.trashed`]: `The ${kind} was moved to the trash.`,
    [`${kind}.restored`]: `The ${kind} was restored from the trash.`,
    [`${kind}.deleted`]: `The ${kind} was permanently deleted.`,
  })

export const TRASH_DAYS = 30
const BATCH = 500

export interface LifecycleKind<Shown> {
  /** The registered kind. Events are `<kind>.archived`, `.unarchived`, `.trashed`, `.restored`, `.deleted`. */
  kind: string
  read(ctx: Context, id: Id): Promise<Shown>
  channels?(row: ResourceRow): string[]
}

/**
 * The five lifecycle handlers, to spread into `implement(agents, { …, ...lifecycleOf({ kind: 'agent', read }) })`. Each
 * is a compare-and-set in one transaction with its event; repeating it changes nothing. A module with more to do calls
 * the handler within its own transaction.
 */
export function lifecycleOf<Shown>(lifecycleKind: LifecycleKind<Shown>) {
  const { kind, read, channels } = lifecycleKind

  const tell = (ctx: Context, verb: string, row: ResourceRow): Promise<void> =>
    // No titles: not every workspace member may read this kind.
    ctx.emit({
      type: `${kind}.${verb}`,
      channels: [`workspace:${row.workspace_id}`, ...(channels?.(row) ?? [])],
      resource: { type: kind, id: row.id },
      data: { id: row.id, workspace_id: row.workspace_id, status: row.status },
    })

  async function go(ctx: Context, id: Id, move: Move): Promise<void> {
    const row = await lockResource(ctx, kind, id)
    const status = statusAfter(row, move)
    if (status === null) return
    if (status === 'refused') return refuseIn(row.status)
    const at = ctx.now()
    await tell(
      ctx,
      past[move],
      await updateResource(ctx, id, {
        status,
        ...(move === 'archive' && { archived_at: at }),
        ...(move === 'unarchive' && { archived_at: null }),
        ...(move === 'restore' && { trashed_from: null, trashed_at: null, trashed_by: null }),
        ...(move === 'trash' && {
          trashed_from: row.status as 'active' | 'archived',
          trashed_at: at,
          trashed_by: ctx.principal.accountId,
        }),
      }),
    )
  }

  function refuseIn(status: Status): never {
    return refuse('invalid_state', {
      message: `This ${kind} is ${status}, so this isn’t possible.`,
      details: { status, allowed: [...allowedFrom[status]] },
    })
  }

  const door =
    (move: Move) =>
    (ctx: Context, { id }: { id: Id }): Promise<Shown> =>
      ctx.transaction(async (ctx) => {
        await go(ctx, id, move)
        return read(ctx, id)
      })

  return {
    archive: door('archive'),
    unarchive: door('unarchive'),
    restore: door('restore'),
    async trash(ctx: Context, { id }: { id: Id }): Promise<{ id: Id }> {
      await ctx.transaction((ctx) => go(ctx, id, 'trash'))
      return { id }
    },
    async permanent_delete(ctx: Context, { id }: { id: Id }): Promise<{ id: Id }> {
      await ctx.transaction(async (ctx) => {
        const row = await lockResource(ctx, kind, id)
        if (row.status !== 'trashed') refuseIn(row.status)
        await ctx.db.deleteFrom('resources').where('id', '=', id).execute()
        await tell(ctx, 'deleted', row)
      })
      return { id }
    },
  }
}

export async function emptyTrash({ postgres, bus }: Pick<Engine, 'postgres' | 'bus'>): Promise<number> {
  for (let deletedCount = 0; ;) {
    const rows = await postgres.db.transaction().execute(async (db) => {
      const rows = await db
        .deleteFrom('resources')
        .where('id', 'in', (query) =>
          query
            .selectFrom('resources')
            .select('id')
            .where('status', '=', 'trashed')
            .where('trashed_at', '<', sql<Date>`now() - make_interval(days => ${TRASH_DAYS})`)
            .orderBy('trashed_at')
            .limit(BATCH)
            .forUpdate()
            .skipLocked(),
        )
        .returning(['id', 'kind', 'workspace_id', 'status'])
        .execute()
      for (const { kind, ...data } of rows) {
        const channels = [`workspace:${data.workspace_id}`]
        await writeOutbox(db, { type: `${kind}.deleted`, channels, resource: { type: kind, id: data.id }, data }, null)
      }
      return rows
    })
    deletedCount += rows.length
    if (rows.length > 0) bus.poke('outbox')
    if (rows.length < BATCH) return deletedCount
  }
}
