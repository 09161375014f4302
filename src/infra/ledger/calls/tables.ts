import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Billing, CostSource, Usage } from '#core/usage.ts'

declare module '../../postgres/tables.ts' {
  interface Database {
    balances: { account_id: Id; nano: Nano }
    spends: { subject: Id; period: string; nano: Nano; held: Nano }
    calls: CallTable
  }
}

type Counts = { [bucket in Exclude<keyof Usage, 'audio_seconds' | 'video_seconds'>]: bigint }

export interface CallTable extends Counts {
  id: Id
  account_id: Id
  workspace_id: Id
  key_id: Id | null
  chat_id: Id | null
  run_id: Id | null
  message_id: Id | null
  surface: string
  model: string
  provider: string
  endpoint_id: Id | null
  billing: Billing
  status: 'succeeded' | 'failed' | 'cancelled'
  day: Date
  audio_seconds: number
  video_seconds: number
  cost_nano: Nano | null
  charged_nano: Nano
  overrun_nano: Nano
  refunded_nano: Nano
  cost_source: CostSource | null
  finish_reason: string | null
  first_token_ms: number | null
  duration_ms: number
  streamed: boolean
  created_at: Date
  path: string | null
  asked_model: string | null
  request_bytes: number | null
  /** Why this provider was chosen. Null: the record isn't linked to a logged request. */
  why: string | null
}
