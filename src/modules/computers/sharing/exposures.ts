import { checkPlace } from '#authz/place.ts'
import { checkTarget, lockResource, placeIn } from '#authz/resources.ts'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import { type Id, idOf } from '#core/ids.ts'
import { membershipIn } from '#core/principal.ts'
import type { Capability } from '#core/scopes.ts'
import { iso } from '#core/time.ts'
import { checkManages } from '../access.ts'
import { publishEvent } from '../events.ts'
import { audit, change, recheckGrants, loadComputer, touch } from '../manage.ts'
import type { ComputerRow } from '../store.ts'
import { type ExposureRow, exposureStore } from './exposure-store.ts'

interface Granted {
  id: Id
  workspace_id: Id
  capabilities: Capability[]
}

export async function expose(outer: Context, { id, workspace_id, capabilities }: Granted) {
  const row = await change(outer, id, 'admin', async (ctx, before) => {
    checkTarget(ctx, workspace_id, 'computer:write')
    if (workspace_id === before.workspace_id)
      refuse('invalid_parameter', { param: 'workspace_id', message: 'The computer already belongs to this workspace.' })
    const exposure =
      (await exposureStore.insert(ctx.db, {
        computer_id: id,
        workspace_id,
        capabilities,
        created_by: ctx.principal.accountId,
      })) ??
      refuse('already_exists', {
        param: 'workspace_id',
        message: 'The computer is already shared with this workspace. Use `PATCH` to change its capabilities.',
      })
    await recordChange(ctx, 'exposed', await touch(ctx, id), workspace_id, { capabilities })
    return exposure
  })
  await outer.engine.rights.refresh()
  return show(row)
}

export async function changeExposure(outer: Context, { id, workspace_id, capabilities }: Granted) {
  const row = await change(outer, id, 'admin', async (ctx, before) => {
    const had = before.exposures.find((one) => one.workspace_id === workspace_id)
    const exposure =
      (await exposureStore.update(ctx.db, id, workspace_id, capabilities)) ??
      refuse('not_found', { param: 'workspace_id' })
    await recordChange(ctx, 'exposure_changed', await touch(ctx, id), workspace_id, {
      capabilities,
      before: had!.capabilities,
    })
    return exposure
  })
  await outer.engine.rights.refresh()
  return show(row)
}

/** Also allowed for the workspace's admins. */
export async function withdraw(
  outer: Context,
  { id, workspace_id }: { id: Id; workspace_id: Id },
): Promise<{ id: Id }> {
  await outer.transaction(async (ctx) => {
    await lockResource(ctx, 'computer', id)
    const before = await loadComputer(ctx, id)
    if (membershipIn(ctx.principal, before.workspace_id) === null)
      checkPlace(placeIn(ctx, workspace_id), 'computer:write', 'admin')
    else checkManages(ctx.principal, before, 'computer:write', 'admin')
    if (!(await exposureStore.delete(ctx.db, id, workspace_id))) refuse('not_found', { param: 'workspace_id' })
    await recordChange(ctx, 'withdrawn', await touch(ctx, id), workspace_id, {})
  })
  await outer.engine.rights.refresh()
  return { id: workspace_id }
}

async function recordChange(
  ctx: Context,
  verb: string,
  row: ComputerRow,
  workspaceId: Id,
  details: Record<string, unknown>,
): Promise<void> {
  await recheckGrants(ctx, [workspaceId])
  await publishEvent(ctx, verb, row, { exposed_to: workspaceId, ...details }, [workspaceId])
  await audit(ctx, verb, row, { workspace_id: workspaceId, ...details })
}

const show = (row: ExposureRow) => ({
  id: idOf('computer_exposure', row.computer_id, row.workspace_id),
  computer_id: row.computer_id,
  workspace_id: row.workspace_id,
  capabilities: row.capabilities,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})
