import { checkMet, personalWorkspaceOf } from '#authz/members.ts'
import { checkTarget } from '#authz/resources.ts'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { vouchesIn } from '../access.ts'
import { localModels } from '../engines/model-store.ts'
import { publishEvent } from '../events.ts'
import { audit, change, checkRoom, recheckGrants, touch } from '../manage.ts'
import { type ComputerRow, computerStore } from '../store.ts'
import { exposureStore } from './exposure-store.ts'

interface TransferInput {
  id: Id
  user_id?: Id | undefined
  workspace_id?: Id | undefined
}

/** Removes exposures and model mappings: callers chose the new owner's providers, not this machine. */
export async function transfer(outer: Context, { id, user_id, workspace_id }: TransferInput): Promise<ComputerRow> {
  const to = await targetOf(outer, user_id, workspace_id)
  const row = await change(outer, id, 'owner', async (ctx, before) => {
    if (to === before.workspace_id) return before
    await checkRoom(ctx, to, before.kind)
    const exposed = before.exposures.map((one) => one.workspace_id)
    // Computer before models, the lock order of `learn.ts`.
    await computerStore.update(ctx.db, id, { vouched: vouchesIn(ctx.principal, to) })
    await exposureStore.deleteAll(ctx.db, id)
    const unmapped = await localModels.unmapAll(ctx.db, id)
    const row = await touch(ctx, id, { workspace_id: to })
    await recheckGrants(ctx, [before.workspace_id, to, ...exposed])
    await publishEvent(ctx, 'transferred', row, { from_workspace_id: before.workspace_id }, [
      before.workspace_id,
      ...exposed,
    ])
    const details = { from: before.workspace_id, to, withdrawn_from: exposed, unmapped }
    await audit(ctx, 'transferred', before, details)
    await audit(ctx, 'transferred', row, details)
    return row
  })
  await outer.engine.rights.refresh()
  return row
}

async function targetOf(ctx: Context, userId: Id | undefined, workspaceId: Id | undefined): Promise<Id> {
  if ((userId === undefined) === (workspaceId === undefined))
    refuse(userId === undefined ? 'missing_parameter' : 'invalid_parameter', {
      param: 'user_id',
      message: 'Send either `user_id` or `workspace_id`.',
    })
  if (workspaceId !== undefined) {
    checkTarget(ctx, workspaceId, 'computer:write')
    return workspaceId
  }
  await checkMet(ctx, userId!, 'user_id')
  return personalWorkspaceOf(ctx.db, userId!)
}
