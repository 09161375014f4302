/** The columns that areas keep sealed under the root key. */
import type { SealedColumns } from '#infra/reseal.ts'
import { agentSecrets } from './agents/service.ts'
import { automationSecrets } from './automations/service.ts'
import { requestSecrets } from './chats/service.ts'
import { pushSecrets } from './notifications/service.ts'
import { webhookSecrets } from './webhooks/service.ts'

/** Columns sealed under the id of their row, which every start seals anew where the key has changed. */
export const sealed: readonly SealedColumns[] = [
  { table: 'kept_items', columns: ['sealed'] },
  ...agentSecrets,
  ...requestSecrets,
  ...automationSecrets,
  ...webhookSecrets,
  ...pushSecrets,
]

/** All sealed columns: provider endpoints see to their own, which are sealed under more than an id. */
export const allSealed: readonly SealedColumns[] = [
  { table: 'provider_endpoints', columns: ['sealed_key', 'sealed_headers'] },
  ...sealed,
]
