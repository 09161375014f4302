import { AsyncLocalStorage } from 'node:async_hooks'

/** The account, or address, whose call is being answered. */
export interface Caller {
  /** Calls with the same name share one part of the connections. */
  name: string
  /** Fires when the caller has left. Null: the work outlives its caller. */
  signal: AbortSignal | null
  /** The call changes nothing: its statements get a short limit and are canceled when the caller leaves. */
  reads: boolean
}

const callers = new AsyncLocalStorage<Caller | null>()

/** Runs `work`, whose statements then count against this caller's share of the connections. */
export const asCaller = <T>(caller: Caller, work: () => T): T => callers.run(caller, work)

/** Runs work that isn't one caller's, although a caller's call started it. */
export const asServer = <T>(work: () => T): T => callers.run(null, work)

/** Null: the server's own work, such as a job. */
export const currentCaller = (): Caller | null => callers.getStore() ?? null
