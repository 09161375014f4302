import type { Engine } from '#infra/context.ts'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import type { Actor } from '#core/principal.ts'
import type { Db } from '#infra/postgres/client.ts'
import { showOperation } from './show.ts'
import type { OperationRow } from './store.ts'

/** Runs in the transaction that changed the state. */
export const tell = (db: Db, row: OperationRow, actor: Actor | null = null): Promise<void> =>
  writeOutbox(
    db,
    {
      type: `operation.${row.status}`,
      channels: [`operation:${row.id}`, `user:${row.account_id}`],
      resource: { type: 'operation', id: row.id },
      // Results may be large and events are kept for a day, so readers fetch the result.
      data: { operation: { ...showOperation(row), result: null } },
    },
    actor,
  )

/** Wakes waiting requests in every process. Call it after the commit. */
export function wake({ bus }: Engine): void {
  bus.poke('operations')
  bus.poke('outbox')
}

/** Null: `change` found nothing to change. */
export async function transition(
  engine: Engine,
  change: (db: Db) => Promise<OperationRow | null>,
): Promise<OperationRow | null> {
  const row = await engine.postgres.db.transaction().execute(async (db) => {
    const updatedRow = await change(db)
    if (updatedRow) await tell(db, updatedRow)
    return updatedRow
  })
  if (row) wake(engine)
  return row
}
