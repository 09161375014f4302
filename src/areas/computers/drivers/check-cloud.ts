import { refuse } from '#kernel/errors.ts'
import type { Context } from '#engine/context.ts'
import type { ComputerRow, Lifecycle } from '../store.ts'
import type { HasCloud } from './handle.ts'
import { cloudStore } from './store.ts'

/** `verb`: `started`. */
export function checkCloud({ kind }: ComputerRow, verb: string): void {
  if (kind !== 'cloud')
    refuse('not_supported', {
      message: `A paired machine is not ${verb} from here: its owner does that on the machine itself.`,
    })
}

/** Refuses what only a process on the computer's own host can do, where none is there. */
export async function checkAttended(ctx: Context<HasCloud>, host: string, status: Lifecycle): Promise<void> {
  if (host !== ctx.engine.cloud.hostId && !(await cloudStore.isAttended(ctx.db, host)))
    refuse('invalid_state', {
      message:
        'The host that has its home is not there: no server runs on it. Start one there, or delete the computer; a snapshot of it begins another one elsewhere.',
      details: { status, allowed: ['delete'] },
    })
}
