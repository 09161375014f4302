import type { Id } from '#kernel/ids.ts'
import type { Nano } from '#kernel/money.ts'
import type { Tier } from '#kernel/principal.ts'
import type { Billing, CostSource, Usage } from '#kernel/usage.ts'

/** Who pays for a call, and whose caps count it. */
export interface Payer {
  accountId: Id
  tier: Tier
  /** The key that was used, with its cap. Null for a session or the server. */
  key: { id: Id; cap: { nano: Nano; period: 'day' | 'week' | 'month' | 'total' } | null } | null
  workspaceId: Id
  chatId?: Id
  runId?: Id
}

/** One metered call of a model. `id` is the call's own and the idempotency of its ledger lines. */
export interface MeteredCall {
  id: Id
  payer: Payer
  /** Where it came in: `compat-a`, `compat-b`, `compat-c`, `inference`, `chat`, … */
  surface: string
  /** The platform's model id and the provider's slug. */
  model: string
  provider: string
  endpointId: Id | null
  billing: Billing
  startedAt: Date
}

export interface Outcome {
  status: 'succeeded' | 'failed' | 'cancelled'
  usage: Usage
  /** Null: the model has no price. */
  cost: Nano | null
  costSource: CostSource | null
  finishReason: string | null
  firstTokenMs: number | null
  durationMs: number
  streamed: boolean
}

/**
 * The one ledger: append-only, whole nano-dollars (contract, part 7). Balance and caps are checked in one step, and
 * no concurrency crosses them.
 */
export interface Ledger extends AsyncDisposable {
  /** Whether a call of this payer must be reserved before it is sent: a cap, a budget, or a balance that it draws on. */
  guards(payer: Payer, billing: Billing): boolean
  /** What the tightest of balance and caps leaves, for splicing a missing `max_tokens`. Null: nothing guards. */
  affordable(payer: Payer, billing: Billing): Promise<Nano | null>
  /**
   * Holds `worst` (null: unpriced) durably before anything is sent upstream. Refuses with 402 `insufficient_credits`,
   * `spend_cap_reached`, `budget_reached` or `unpriced_model`; writes nothing when it refuses. Many callers share one
   * round trip.
   */
  reserve(call: MeteredCall, worst: Nano | null): Promise<void>
  /** The request has left for the provider: from here on a crash is settled as an estimate instead of released. */
  sent(call: MeteredCall): void
  /** Settles on the truth and records the call. Returns at once; durable within 250 ms, before `dispose` ends for sure. */
  settle(call: MeteredCall, outcome: Outcome): void
  /** The call was never sent. */
  release(call: MeteredCall): void
  /** Waits until everything settled so far is durable. */
  flush(): Promise<void>
  grant(accountId: Id, amount: Nano, note: string, by: Id | null): Promise<void>
}
