import type { Context } from './context.ts'

/** Work that outlives its caller, on graphile-worker: durable with the transaction it is added in, tried again when it fails. */
export interface Jobs extends AsyncDisposable {
  /** Added within `ctx`'s transaction if there is one. `key` replaces a waiting job of the same key. */
  add(ctx: Pick<Context, 'db'>, name: string, payload: Record<string, unknown>, more?: { runAt?: Date; key?: string; attempts?: number }): Promise<void>
}

/** What a job gets: its payload as it was added, and a signal that fires when the server stops. */
export type JobHandler = (payload: never, job: { signal: AbortSignal; attempt: number; lastAttempt: boolean }) => Promise<void>
