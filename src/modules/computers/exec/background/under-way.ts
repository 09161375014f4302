/** Commands in the background that may live on their computers. */
import { type Generated, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    computer_commands: CommandTable
  }
}
interface CommandTable {
  /** The operation of the command, by which its computer knows it, too. */
  operation_id: Id
  computer_id: Id
  created_at: Generated<Date>
}

export interface Unwanted {
  operation_id: Id
  computer_id: Id
  /** Whether the caller has been told long ago what became of the command. */
  settled: boolean
}

/** The time in which a call of another process may still arrive at the computer behind one of this process. */
const ON_ITS_WAY_SECONDS = 60

/**
 * The days that a row is kept: longer than an operation lasts, and than a computer goes on with what nobody follows.
 */
const KEPT_DAYS = 16

export const commandsUnderWay = {
  /** Notes a command before it is begun. */
  async note(db: Db, operationId: Id, computerId: Id): Promise<void> {
    await db
      .insertInto('computer_commands')
      .values({ operation_id: operationId, computer_id: computerId })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  },

  /** Forgets a command that lives no more. */
  async forget(db: Db, operationId: Id): Promise<void> {
    await db.deleteFrom('computer_commands').where('operation_id', '=', operationId).execute()
  },

  /**
   * The commands on these computers that nobody waits for any more: they were cancelled, took too long, or their caller
   * lost the right.
   */
  async unwanted(db: Db, computers: readonly Id[]): Promise<Unwanted[]> {
    const { rows } = await sql<Unwanted>`select c.operation_id, c.computer_id,
      (o.completed_at > now() - make_interval(secs => ${ON_ITS_WAY_SECONDS})) is not true as settled from computer_commands c left join operations o on o.id = c.operation_id
      where c.computer_id = any(${computers}::ulid[]) and o.status is distinct from 'queued'
        and o.status is distinct from 'running' limit 100`.execute(db)
    return rows
  },

  /** Drops the rows that a computer which never came back would have been told of. */
  async retain(db: Db): Promise<void> {
    await sql`delete from computer_commands where created_at < now() - make_interval(days => ${KEPT_DAYS})`.execute(db)
  },
}
