import { refuse } from '#core/errors.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { ComputerRow, Lifecycle } from '../store.ts'
import type { Cloud } from './handle.ts'
import { cloudStore } from './store.ts'

/** `verb`: a past participle, such as `started`. */
export function checkCloud({ kind }: ComputerRow, verb: string): void {
  if (kind !== 'cloud')
    refuse('not_supported', {
      message: `Only cloud computers can be ${verb}. A paired computer is managed on the computer itself.`,
    })
}

export async function checkAttended(db: Db, { hostId }: Cloud, host: string, status: Lifecycle): Promise<void> {
  if (host !== hostId && !(await cloudStore.isAttended(db, host)))
    refuse('invalid_state', {
      message:
        'The host that has this computer’s home is offline: no server process runs on it. Start one there, or delete the computer. You can create a new computer elsewhere from a snapshot.',
      details: { status, allowed: ['delete'] },
    })
}
