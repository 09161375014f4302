import { checkTarget, visibleWorkspaces } from '#authz/resources.ts'
import type { Context } from '#infra/context.ts'
import { implementWith } from '#core/implement.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { cloudComputers } from '../contract-cloud.ts'
import type { HasLinks } from '../link/links.ts'
import { create } from './actions.ts'
import type { HasCloud } from './handle.ts'
import { type SnapshotPage, snapshotStore } from './snapshot-store.ts'
import { deleteSnapshot, showSnapshot } from './snapshots.ts'

export const cloudService = implementWith<Context<HasLinks & HasCloud>>()(cloudComputers, {
  async drivers(ctx) {
    const rows = (await ctx.engine.cloud.probes()).map(({ driver, probe }) => ({
      driver: driver.name,
      available: probe.available,
      reason: probe.reason,
      images: probe.images,
      network: probe.network,
      limits_enforced: probe.limitsEnforced,
      disk_limits_enforced: probe.diskLimitsEnforced,
    }))
    return { rows, next: null }
  },

  create,

  snapshots: (ctx, { workspace_id, cursor, limit }) => {
    const workspaces = visibleWorkspaces(ctx, 'computer:read', workspace_id)
    return snapshotPage(ctx, { workspaces, computerId: null }, { workspace_id }, cursor, limit)
  },

  async delete_snapshot(ctx, { id }) {
    const row = await snapshotStore.get(ctx.db, id)
    if (row === null || !visibleWorkspaces(ctx, 'computer:read', undefined).includes(row.workspace_id))
      return refuse('not_found', { param: 'id' })
    checkTarget(ctx, row.workspace_id, 'computer:write', 'id')
    await deleteSnapshot(ctx, id)
    return { id }
  },
})

export async function snapshotPage(
  ctx: Context,
  which: Pick<SnapshotPage, 'workspaces' | 'computerId'>,
  filters: Record<string, unknown>,
  cursor: string | undefined,
  limit: number,
) {
  const before = (positionOf('computer_snapshots', filters, cursor)?.[0] as Id) ?? null
  const rows = await snapshotStore.list(ctx.db, { ...which, before, limit: limit + 1 })
  return pageOf(rows, limit, ({ id }) => cursorOf('computer_snapshots', filters, [id]), showSnapshot)
}
