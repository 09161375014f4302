import type { z } from 'zod'
import { showResource } from '#authz/resources.ts'
import { toUsd, usdOrNull } from '#core/money.ts'
import { isoOrNull } from '#core/time.ts'
import type { Chat } from './contract.ts'
import type { ChatRow } from './store.ts'
import { expiresAt } from './temporary/temporary.ts'

export const showChat = (row: ChatRow): z.output<typeof Chat> => ({
  ...showResource(row),
  title: row.title,
  title_source: row.title_source,
  agent_id: row.agent_id,
  model: row.model,
  head_message_id: row.head_message_id,
  active_run_id: row.active_run_id,
  forked_from:
    row.forked_from_chat_id === null
      ? null
      : { chat_id: row.forked_from_chat_id, message_id: row.forked_from_message_id },
  parent_chat_id: row.parent_chat_id,
  temporary: row.temporary,
  expires_at: isoOrNull(expiresAt(row)),
  max_cost_usd: usdOrNull(row.max_cost_nano),
  spent_usd: toUsd(row.spent_nano ?? 0n),
  message_count: row.last_seq,
  last_message_at: isoOrNull(row.last_message_at),
})
