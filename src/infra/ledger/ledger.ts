import type { Db } from '../postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Budget, Cap, Nano } from '#core/money.ts'
import type { ModelRule, Tier } from '#core/principal.ts'
import type { Period } from '#core/time.ts'
import type { Billing, CostSource, Usage } from '#core/usage.ts'

/** The payer of a call, and the caps that count it. */
export interface Payer {
  accountId: Id
  tier: Tier
  /** The key that was used, with its cap. Null for a session or the server. */
  key: { id: Id; cap: Cap | null } | null
  workspaceId: Id
  chatId?: Id
  runId?: Id
  messageId?: Id
  /** The reason of a refusal is read by others too: in a run, by all who read its chat. */
  overheard?: true
  /** The caller is not a member of the workspace, so its sums are not told to them. */
  guest?: true
  /** The caller is an active member of another account's workspace. */
  invited?: true
  /** Further caps, all checked in the one step with balance and key. */
  budgets?: readonly Budget[]
  /** The rules that the router holds its calls to. */
  rules?: readonly ModelRule[]
}

/**
 * One metered call of a model. `id` is the call's own and the idempotency of its ledger lines; a further attempt with
 * another provider is a call of its own, with an id and a start of its own.
 */
export interface MeteredCall {
  id: Id
  payer: Payer
  /** The surface it came in by: `compat-a`, `compat-b`, `compat-c`, `inference`, `chat`, … */
  surface: string
  /** The platform's model id and the provider's slug. */
  model: string
  provider: string
  endpointId: Id | null
  billing: Billing
  /** The time of the reservation: the call counts in the periods of that time. */
  startedAt: Date
}

/** The part of a request's entry in the log that is not in the record of the call that answered it. */
export interface AnsweredRequest {
  /** Null: it was asked for by this server, as a run does. */
  path: string | null
  askedModel: string | null
  /** The size of the body; null: the request had none. */
  bytes: number | null
  /** The reason why this provider was asked, for people; empty: nobody else could serve. */
  why: string
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
  /** Set where the record of this call stands for its request in the log of requests. */
  request?: AnsweredRequest | null
}

export interface Refund {
  accountId: Id
  workspaceId: Id
  amount: Nano
  /** The sum that this call was refunded so far. */
  refunded: Nano
  charged: Nano
  balance: Nano
}

/**
 * The one ledger: append-only, whole nano-dollars (contract, part 7). Balance and caps are checked in one step, and
 * no concurrency crosses them.
 */
export interface Ledger extends AsyncDisposable {
  /** Whether a cap, a budget, or a balance that it draws on can refuse a call of this payer. */
  isGuarded(payer: Payer, billing: Billing): boolean
  /** Whether it is held before it is sent: when something guards it, and always for a run, which outlives its process. */
  isReserved(payer: Payer, billing: Billing): boolean
  /** The amount that the tightest of balance and caps leaves, for saying so to who is refused. Null: nothing guards. */
  affordable(payer: Payer, billing: Billing): Promise<Nano | null>
  /**
   * Holds `worst` (null: unpriced) durably before anything is sent upstream; where balance and caps leave less, all that
   * they leave, if that is not below `least`. Answers what is held; what this process's calls that are over still hold
   * refuses nobody. Refuses with 402 `insufficient_credits`,
   * `spend_cap_reached`, `budget_reached` or `unpriced_model`; writes nothing when it refuses. Many callers share one
   * round trip. The refusal's details have `needed_usd`, `available_usd`, of a cap also `cap_usd` and `period`; where
   * others read it too, of balance, key, workspace, agent and automation `needed_usd` alone, and `toPayer` has all.
   */
  reserve(call: MeteredCall, worst: Nano | null, least?: Nano | null): Promise<Nano>
  /**
   * The request has left for the provider: from here on a crash is settled as an estimate instead of released.
   * `soFar` is that estimate: what the input costs at most. `now` is asked once a second what it has become. Cheap:
   * calls that end within 50 ms are never marked.
   */
  markSent(call: MeteredCall, soFar?: Nano, now?: () => Nano): void
  /**
   * Within a transaction: what is held for this call is not ended with this process. Whoever has read what became of it
   * settles or releases it, in whatever process.
   */
  outlive(db: Db, callId: Id): Promise<void>
  /** Settles on the truth and records the call. Returns at once; durable within 250 ms, before `dispose` ends for sure. */
  settle(call: MeteredCall, outcome: Outcome): void
  /** The call was never sent. */
  release(call: MeteredCall): void
  /** Waits until everything settled so far is durable; throws when it cannot be now. */
  flush(): Promise<void>
  /** The amounts that keys (or other capped subjects) have spent in the present period, this process's last call included. Ids that spent nothing are absent. */
  readSpends(subjects: readonly { id: Id; period: Period }[]): Promise<Map<Id, Nano>>
  /** The amount that an account can still reserve. */
  balance(accountId: Id): Promise<Nano>
  /** Within the caller's transaction. Answers the balance after it. */
  grant(db: Db, accountId: Id, amount: Nano, note: string, by: Id | null): Promise<Nano>
  /**
   * Gives back what a call charged, all of what is left of it (`amount` null) or a part, within the caller's
   * transaction. What the call cost still counts under caps. Refuses with 404, 409 when nothing is left, 400 when less is. What ended just now is there after `flush`.
   */
  refund(db: Db, callId: Id, amount: Nano | null, note: string, by: Id): Promise<Refund>
}
