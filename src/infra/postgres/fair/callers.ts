import { AsyncLocalStorage } from 'node:async_hooks'

export interface Caller {
  /** Calls with the same name share connections. */
  name: string
  signal: AbortSignal | null
  /** A read: its statements have a short limit and are canceled when the caller leaves. */
  reads: boolean
}

const callers = new AsyncLocalStorage<Caller | null>()

export const asCaller = <T>(caller: Caller, work: () => T): T => callers.run(caller, work)

/** For work that isn't one caller's, although a call started it. */
export const asServer = <T>(work: () => T): T => callers.run(null, work)

export const currentCaller = (): Caller | null => callers.getStore() ?? null
