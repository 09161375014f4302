import type { CallRow } from '#infra/ledger/calls/calls.ts'
import type { Id } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'

/** US dollars spent by a key's calls in the current period of each kind. */
export type SpentByPeriod = Readonly<Record<'day' | 'week' | 'month' | 'total', number>>

export interface KeyUsage {
  name: string
  /** All calls count toward the cap, including those on the caller's own provider keys. */
  spent: SpentByPeriod
  byok: SpentByPeriod
}

/** Implemented by a module; the gateway's surfaces show it to the owner. */
export interface UsageLookup {
  key(principal: Principal): Promise<KeyUsage | null>
  /** US dollars: the total granted, and the total used by calls. */
  credits(principal: Principal): Promise<{ granted: number; used: number }>
  /** Includes this process's latest calls. A key of one workspace only finds calls of that workspace. */
  call(principal: Principal, id: Id): Promise<CallRow | null>
}
