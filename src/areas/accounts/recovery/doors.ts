/** What an account opened outward or inward while nobody had shown that its address is theirs. */
import type { Context } from '#engine/context.ts'
import type { Id } from '#kernel/ids.ts'

/** How many of each, where there are any: what was switched off, and what is left for a person to look at. */
export interface EarlierDoors {
  closed: Record<string, number>
  to_review: Record<string, number>
}

/** What accounts ask of the areas whose things these are; app.ts puts it on the engine. */
export interface HasDoors {
  /** Within the transaction of `ctx`, and once more a few seconds later, when every process knows that the sessions have ended. */
  closeEarlierDoors(ctx: Context, accountId: Id): Promise<EarlierDoors>
}
