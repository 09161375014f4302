/** Runs commands for automations. */
import type { Context } from '#infra/context.ts'
import { startOperation } from '#modules/operations/service.ts'
import { absent, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { checkMayUse, accessPaths, workspaceFor } from '../access.ts'
import { type ComputerRow, computerStore } from '../store.ts'
import { execOperation } from './background/operation.ts'

export interface ServerCommand {
  computerId: Id
  command: string
  stdin: string | null
  env: Record<string, string>
  timeoutMs: number
}

/** 404 with `param` if the caller can't see the computer. */
export async function checkCommand(ctx: Context, computerId: Id, param: string): Promise<ComputerRow> {
  const row = await computerStore.get(ctx.db, computerId)
  if (row === null || accessPaths(ctx.principal, row).length === 0)
    return refuse('not_found', { param, message: absent('computer') })
  checkMayUse(ctx.principal, row, 'exec')
  return row
}

/** Runs within the caller's transaction. Returns the operation's ID. */
export async function startCommand(
  ctx: Context,
  { computerId, command, stdin, env, timeoutMs }: ServerCommand,
): Promise<Id> {
  const row = await checkCommand(ctx, computerId, 'computer_id')
  const input = {
    computer_id: computerId,
    base64: false,
    most: null,
    command: {
      argv: ['/bin/sh', '-c', command],
      cwd: null,
      env,
      user: null,
      timeout_ms: timeoutMs,
      stdin_base64: stdin === null ? null : Buffer.from(stdin).toString('base64'),
    },
  }
  const about = {
    resource: { type: 'computer', id: computerId },
    workspaceId: workspaceFor(ctx.principal, row, 'exec'),
  }
  const { operation } = await startOperation(ctx, execOperation, input, about)
  return operation.id
}
