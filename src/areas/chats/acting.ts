import type { Context, Engine } from '#engine/context.ts'
import type { Id } from '#kernel/ids.ts'
import type { Budget } from '#kernel/money.ts'
import { scopes as allScopes } from '#kernel/scopes.ts'
import type { RunRow } from './run-store.ts'

/** The server acting for who sent the message of a run, within that run. Null when they are gone. */
export const actingFor = (
  engine: Engine,
  run: RunRow,
  workspaceId: Id | null,
  { budgets, signal }: { budgets: readonly Budget[]; signal: AbortSignal },
): Promise<Context | null> =>
  engine.actAs({
    accountId: run.account_id,
    scopes: run.scopes ?? allScopes,
    workspaceId,
    payingKeyId: run.key_id,
    run: { id: run.id, budgets },
    signal,
  })
