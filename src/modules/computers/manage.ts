import { writeAudit } from '#authz/audit.ts'
import { accountsIn } from '#authz/members.ts'
import { lockResource, updateResource } from '#authz/resources.ts'
import { rightsChanged } from '#authz/rights.ts'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Role } from '#core/scopes.ts'
import { checkManages } from './access.ts'
import { type ComputerRow, computerStore } from './store.ts'

export const loadComputer = async (ctx: Context, id: Id): Promise<ComputerRow> =>
  (await computerStore.get(ctx.db, id)) ?? refuse('not_found', { param: 'id' })

/** The row lock keeps `before` current. */
export function change<T>(
  ctx: Context,
  id: Id,
  role: Role,
  work: (ctx: Context, before: ComputerRow) => Promise<T>,
): Promise<T> {
  return ctx.transaction(async (ctx) => {
    await lockResource(ctx, 'computer', id)
    const before = await loadComputer(ctx, id)
    checkManages(ctx.principal, before, 'computer:write', role)
    return work(ctx, before)
  })
}

export const touch = async (ctx: Context, id: Id, changes: { workspace_id?: Id } = {}): Promise<ComputerRow> => {
  await updateResource(ctx, id, changes)
  return loadComputer(ctx, id)
}

const MAX_COMPUTERS = 1_000

export async function checkRoom(ctx: Context, workspaceId: Id, kind: ComputerRow['kind']): Promise<void> {
  const { all, cloud } = await computerStore.countForOneMore(ctx.db, workspaceId)
  const maxCloud = ctx.engine.config.computersPerWorkspace
  if (kind === 'cloud' && cloud >= maxCloud)
    refuse('limit_reached', {
      message: `A workspace can have up to ${maxCloud} cloud computers (UK_COMPUTERS_PER_WORKSPACE).`,
      details: { limit: maxCloud },
    })
  if (all >= MAX_COMPUTERS)
    refuse('limit_reached', {
      message: `A workspace can have up to ${MAX_COMPUTERS} computers.`,
      details: { limit: MAX_COMPUTERS },
    })
}

/** Rechecks open uses. */
export async function recheckGrants(ctx: Context, workspaceIds: readonly Id[]): Promise<void> {
  // Workspaces too: which computers serve them may have changed.
  await rightsChanged(ctx.db, [...(await accountsIn(ctx.db, workspaceIds)), ...workspaceIds])
  ctx.afterCommit(() => {
    ctx.engine.bus.poke('rights')
    ctx.engine.bus.poke('computers')
  })
}

export const audit = (
  ctx: Context,
  action: string,
  { id, workspace_id: workspaceId, name }: Pick<ComputerRow, 'id' | 'workspace_id' | 'name'>,
  details: Record<string, unknown> = {},
): Promise<void> =>
  writeAudit(ctx, {
    action: `computer.${action}`,
    workspaceId,
    subject: { type: 'computer', id },
    details: { name, ...details },
  })
