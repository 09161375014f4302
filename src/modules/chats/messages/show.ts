import type { z } from 'zod'
import { toUsd } from '#core/money.ts'
import { iso } from '#core/time.ts'
import { keptUsage } from '#core/usage.ts'
import type { Message } from '../contract-messages.ts'
import type { MessageRow } from './message-store.ts'

export const showMessage = (row: MessageRow): z.output<typeof Message> => ({
  id: row.id,
  chat_id: row.chat_id,
  parent_id: row.parent_id,
  run_id: row.run_id,
  role: row.role,
  status: row.status,
  content: row.content,
  text: row.text,
  model: row.model,
  provider: row.provider,
  finish_reason: row.finish_reason,
  usage: keptUsage(row.usage),
  cost_usd: row.cost_nano === null ? null : toUsd(row.cost_nano),
  seq: row.seq,
  created_by: row.created_by,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})
