import type { Emitted } from '#engine/context.ts'
import type { Id } from '#kernel/ids.ts'
import type { AutomationRunRow } from './runs/run-store.ts'
import type { AutomationRow } from './store.ts'

export const automationEvent = (
  {
    id,
    workspace_id,
    status,
    name,
    account_id,
    paused_reason,
  }: Pick<AutomationRow, 'id' | 'workspace_id' | 'status' | 'name' | 'account_id' | 'paused_reason'>,
  verb: string,
): Emitted => ({
  type: `automation.${verb}`,
  channels: [`workspace:${workspace_id}`, ...(verb === 'paused' ? [`user:${account_id}`] : [])],
  resource: { type: 'automation', id },
  data: { id, automation_id: id, workspace_id, status, name, ...(verb === 'paused' && { paused_reason }) },
})

/** Its owner hears of failures wherever they are. */
export const runEvent = (
  run: Pick<AutomationRunRow, 'id' | 'automation_id' | 'workspace_id' | 'status' | 'chat_id' | 'run_id' | 'error'>,
  verb: string,
  { name, account_id }: { name: string; account_id: Id },
): Emitted => ({
  type: `automation.run.${verb}`,
  channels: [`workspace:${run.workspace_id}`, ...(verb === 'failed' ? [`user:${account_id}`] : [])],
  resource: { type: 'automation_run', id: run.id },
  data: {
    id: run.id,
    automation_id: run.automation_id,
    workspace_id: run.workspace_id,
    status: run.status,
    chat_id: run.chat_id,
    run_id: run.run_id,
    name,
    error: run.error?.message ?? null,
  },
})
