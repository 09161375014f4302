/** Ways into an account, and shares from it, created before its address was verified. */
import type { Context } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'

/** Counts by kind: disabled, and left for review. */
export interface EarlierDoors {
  closed: Record<string, number>
  to_review: Record<string, number>
}

/** Closes what other modules hold for an account. `app.ts` puts it on the engine. */
export interface HasDoors {
  /**
   * Runs in the transaction of `ctx`, and again a few seconds later, when every process knows that the sessions have
   * ended.
   */
  closeEarlierDoors(ctx: Context, accountId: Id): Promise<EarlierDoors>
}
