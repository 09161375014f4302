import type { CallRow } from '#infra/ledger/calls/calls.ts'
import type { Id } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'

/** US dollars that a key's calls cost, in the present period of each kind. */
export type SpentByPeriod = Readonly<Record<'day' | 'week' | 'month' | 'total', number>>

/** A key as its own holder may see it. */
export interface KeyUsage {
  name: string
  /** All calls count under the cap, those on the caller's own provider keys too. */
  spent: SpentByPeriod
  /** The part of it that the caller's own provider keys paid. */
  byok: SpentByPeriod
}

/** The records of money and calls. The areas keep it; the gateway's surfaces show it to whoever's it is. */
export interface UsageLookup {
  /** Null: the credential is not a key. */
  key(principal: Principal): Promise<KeyUsage | null>
  /** US dollars: all that was ever granted, and what calls have taken of it. */
  credits(principal: Principal): Promise<{ granted: number; used: number }>
  /**
   * A call of this account; a key of one workspace finds those of that workspace only. This process's last calls are
   * among them.
   */
  call(principal: Principal, id: Id): Promise<CallRow | null>
}
