import type { EmittedEvent } from '#infra/outbox/outbox.ts'
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
): EmittedEvent => ({
  type: `automation.${verb}`,
  channels: [`workspace:${workspace_id}`, ...(verb === 'paused' ? [`user:${account_id}`] : [])],
  resource: { type: 'automation', id },
  data: { id, automation_id: id, workspace_id, status, name, ...(verb === 'paused' && { paused_reason }) },
})
