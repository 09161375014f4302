import type { Db } from '../postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Budget, Cap, Nano } from '#core/money.ts'
import type { ModelRule, Tier } from '#core/principal.ts'
import type { Period } from '#core/time.ts'
import type { Billing, CostSource, Usage } from '#core/usage.ts'

export interface Payer {
  accountId: Id
  tier: Tier
  key: { id: Id; cap: Cap | null } | null
  workspaceId: Id
  chatId?: Id
  runId?: Id
  messageId?: Id
  /** Others can read the refusal: in a run, everyone who reads its chat. */
  overheard?: true
  /** Not a member of the workspace, so its amounts aren't revealed. */
  guest?: true
  /** An active member of another account's workspace. */
  invited?: true
  budgets?: readonly Budget[]
  rules?: readonly ModelRule[]
}

/**
 * One metered model call. `id` is also the idempotency key of its ledger lines. A fallback to another provider is a
 * separate call with its own ID and start.
 */
export interface MeteredCall {
  id: Id
  payer: Payer
  /** The API surface: `compat-a`, `compat-b`, `compat-c`, `inference`, `chat`, … */
  surface: string
  /** The platform's model ID and the provider's slug. */
  model: string
  provider: string
  endpointId: Id | null
  billing: Billing
  /** The reservation time, which determines the periods. */
  startedAt: Date
}

export interface AnsweredRequest {
  /** Null: an internal request, such as a run's. */
  path: string | null
  askedModel: string | null
  bytes: number | null
  /** Why this provider was chosen, for people. Empty without an alternative. */
  why: string
}

export interface Outcome {
  status: 'succeeded' | 'failed' | 'cancelled'
  usage: Usage
  cost: Nano | null
  costSource: CostSource | null
  finishReason: string | null
  firstTokenMs: number | null
  durationMs: number
  streamed: boolean
  request?: AnsweredRequest | null
}

export interface Refund {
  accountId: Id
  workspaceId: Id
  amount: Nano
  refunded: Nano
  charged: Nano
  balance: Nano
}

/**
 * The ledger: append-only, in whole nano-dollars (contract, part 7). Balance and caps are checked atomically, so
 * concurrent calls can't exceed them.
 */
export interface Ledger extends AsyncDisposable {
  /** Whether a cap, budget, or balance can refuse this payer's calls. */
  isGuarded(payer: Payer, billing: Billing): boolean
  /** Whether calls are reserved before they are sent: if anything limits them, and always for runs. */
  isReserved(payer: Payer, billing: Billing): boolean
  /** The tightest remaining amount, for messages. Null: unlimited. */
  affordable(payer: Payer, billing: Billing): Promise<Nano | null>
  /**
   * Durably reserves `worst` (null: unpriced) before the request is sent, or what balance and caps have left if that is
   * at least `least`. Returns the reserved amount. This process's finished calls never cause a refusal. Throws 402
   * `insufficient_credits`, `spend_cap_reached`, `budget_reached`, or `unpriced_model` without writing. Concurrent
   * callers share a round trip. Error details: `needed_usd`, `available_usd`, for caps also `cap_usd` and `period`; if
   * others can read the error, balance, key, workspace, agent, and automation give only `needed_usd`, and `toPayer` has
   * all.
   */
  reserve(call: MeteredCall, worst: Nano | null, least?: Nano | null): Promise<Nano>
  /**
   * The request was sent: a crash is now settled as an estimate instead of released. `soFar` is the estimate, the
   * maximum input cost; `now` is called every second for an update. Cheap: calls shorter than 50 ms are never marked.
   */
  markSent(call: MeteredCall, soFar?: Nano, now?: () => Nano): void
  /**
   * In a transaction: keeps the reservation beyond this process. Any process that learns the outcome settles or
   * releases it.
   */
  outlive(db: Db, callId: Id): Promise<void>
  /**
   * Settles the actual cost and records the call. Returns immediately; durable within 250 ms and before `dispose` ends.
   */
  settle(call: MeteredCall, outcome: Outcome): void
  /** The call was never sent. */
  release(call: MeteredCall): void
  /** Waits until everything settled so far is durable. Throws if that isn't possible now. */
  flush(): Promise<void>
  /**
   * Spending in the current period per key or other subject, including this process's latest calls. Subjects without
   * spending are missing.
   */
  readSpends(subjects: readonly { id: Id; period: Period }[]): Promise<Map<Id, Nano>>
  balance(accountId: Id): Promise<Nano>
  grant(db: Db, accountId: Id, amount: Nano, note: string, by: Id | null): Promise<Nano>
  /**
   * Refunds a call within the caller's transaction: `amount`, or all that remains if null. The cost still counts under
   * caps. Throws 404; 409 if nothing remains; 400 if too little remains. Calls that ended just now require `flush`
   * first.
   */
  refund(db: Db, callId: Id, amount: Nano | null, note: string, by: Id): Promise<Refund>
}
