import { type ColumnType, type Generated, type RawBuilder, type Selectable, sql } from 'kysely'
import { hashSecret, randomBase62 } from '#authz/api-key.ts'
import { type Db, sqlState } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Lender } from '#core/principal.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    computer_tickets: TicketTable
  }
}
interface TicketTable {
  token_hash: Buffer
  entered: Generated<boolean>
  computer_id: Id
  port: number | null
  terminal_id: string | null
  account_id: Id
  session_id: Id | null
  key_id: Id | null
  /** Null: all scopes. */
  scopes: string[] | null
  held_to: Id | null
  lenders: ColumnType<Lender[], string, string>
  expires_at: Date
  /** The end of access, including a session opened with the ticket. */
  ends_at: Date
}
export type TicketRow = Selectable<TicketTable>
export type NewTicket = Omit<
  TicketRow,
  'token_hash' | 'entered' | 'lenders' | 'computer_id' | 'port' | 'terminal_id'
> & {
  lenders: readonly Lender[]
}

export type Place = { computerId: Id; port: number } | { computerId: Id; terminalId: string }

const newToken = (): string => randomBase62(43)

const columnsOf = (place: Place) => ({
  computer_id: place.computerId,
  port: 'port' in place ? place.port : null,
  terminal_id: 'terminalId' in place ? place.terminalId : null,
})
function isOf(place: Place): RawBuilder<boolean> {
  const { computer_id, port, terminal_id } = columnsOf(place)
  return sql`computer_id = ${computer_id} and port is not distinct from ${port}::int
    and terminal_id is not distinct from ${terminal_id}::text`
}

export const ticketStore = {
  /** Returns the ticket in plain text, only once. */
  async add(db: Db, place: Place, { lenders, ...row }: NewTicket): Promise<string> {
    const ticket = newToken()
    await db
      .insertInto('computer_tickets')
      .values({ ...row, ...columnsOf(place), token_hash: hashSecret(ticket), lenders: JSON.stringify(lenders) })
      .execute()
      // The computer or the requesting key was deleted meanwhile.
      .catch((error: unknown) => {
        if (sqlState(error) === '23503') refuse('not_found', { param: 'id' })
        throw error
      })
    return ticket
  },

  /** Returns the token that replaces the ticket. Null: not valid for this place. */
  async redeem(db: Db, place: Place, ticket: string): Promise<string | null> {
    const token = newToken()
    const { rows } =
      await sql`update computer_tickets set token_hash = ${hashSecret(token)}, entered = true, expires_at = ends_at
      where token_hash = ${hashSecret(ticket)} and not entered and expires_at > now() and ${isOf(place)} returning 1`.execute(
        db,
      )
    return rows.length === 1 ? token : null
  },

  async entered(db: Db, place: Place, token: string): Promise<TicketRow | null> {
    const { rows } = await sql<TicketRow>`select * from computer_tickets
      where token_hash = ${hashSecret(token)} and entered and expires_at > now() and ${isOf(place)}`.execute(db)
    return rows[0] ?? null
  },

  async retain(db: Db): Promise<void> {
    await sql`delete from computer_tickets where expires_at < now()`.execute(db)
  },
}
