import { type Generated, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    computer_commands: CommandTable
  }
}
interface CommandTable {
  /** Also the command's key on its computer. */
  operation_id: Id
  computer_id: Id
  created_at: Generated<Date>
}

export interface UnwantedCommand {
  operation_id: Id
  computer_id: Id
  /** Whether no late call can start the command anymore. */
  settled: boolean
}

/** Another process's call may reach the computer after one of this process. */
const ON_ITS_WAY_SECONDS = 60

/** Outlasts operations and commands without followers. */
const KEPT_DAYS = 16

export const runningCommands = {
  async note(db: Db, operationId: Id, computerId: Id): Promise<void> {
    await db
      .insertInto('computer_commands')
      .values({ operation_id: operationId, computer_id: computerId })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  },

  async forget(db: Db, operationId: Id): Promise<void> {
    await db.deleteFrom('computer_commands').where('operation_id', '=', operationId).execute()
  },

  /** Canceled and expired commands, and those whose caller lost permission. */
  async unwanted(db: Db, computers: readonly Id[]): Promise<UnwantedCommand[]> {
    const { rows } = await sql<UnwantedCommand>`select c.operation_id, c.computer_id,
      (o.completed_at > now() - make_interval(secs => ${ON_ITS_WAY_SECONDS})) is not true as settled from computer_commands c left join operations o on o.id = c.operation_id
      where c.computer_id = any(${computers}::ulid[]) and o.status is distinct from 'queued'
        and o.status is distinct from 'running' limit 100`.execute(db)
    return rows
  },

  async retain(db: Db): Promise<void> {
    await sql`delete from computer_commands where created_at < now() - make_interval(days => ${KEPT_DAYS})`.execute(db)
  },
}
