import type { SealedColumns } from '#infra/reseal.ts'
import { agentSecrets } from './agents/service.ts'
import { automationSecrets } from './automations/service.ts'
import { requestSecrets } from './chats/service.ts'
import { pushSecrets } from './notifications/service.ts'
import { webhookSecrets } from './webhooks/service.ts'

/** Columns encrypted with the ID of their row. Each start re-encrypts them after a key change. */
export const sealed: readonly SealedColumns[] = [
  { table: 'kept_items', columns: ['sealed'] },
  ...agentSecrets,
  ...requestSecrets,
  ...automationSecrets,
  ...webhookSecrets,
  ...pushSecrets,
]

/** All encrypted columns. Provider endpoints handle their own, which are encrypted with more than an ID. */
export const allSealed: readonly SealedColumns[] = [
  { table: 'provider_endpoints', columns: ['sealed_key', 'sealed_headers'] },
  ...sealed,
]
