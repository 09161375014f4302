/** The ways in and out that an account opened before its address was verified. */
import type { Context } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'

/** The number of such things by kind: those that were switched off, and those left for a person to look at. */
export interface EarlierDoors {
  closed: Record<string, number>
  to_review: Record<string, number>
}

/** The call by which accounts have the other areas close what an account opened; app.ts puts it on the engine. */
export interface HasDoors {
  /** Closes them within the transaction of `ctx`, and once more a few seconds later, when every process knows that the sessions have ended. */
  closeEarlierDoors(ctx: Context, accountId: Id): Promise<EarlierDoors>
}
