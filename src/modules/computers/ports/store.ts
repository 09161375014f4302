import { type Generated, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { PreviewAddress } from './address.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    computer_ports: PortTable
  }
}
interface PortTable {
  computer_id: Id
  port: number
  label: string
  updated_at: Generated<Date>
}
export const portStore = {
  async labels(db: Db, computerId: Id): Promise<Map<number, string>> {
    const rows = await db
      .selectFrom('computer_ports')
      .select(['port', 'label'])
      .where('computer_id', '=', computerId)
      .execute()
    return new Map(rows.map(({ port, label }) => [port, label]))
  },

  async setLabel(db: Db, { computerId, port }: PreviewAddress, label: string | null): Promise<void> {
    if (label === null)
      await db.deleteFrom('computer_ports').where('computer_id', '=', computerId).where('port', '=', port).execute()
    else
      await sql`insert into computer_ports (computer_id, port, label) values (${computerId}, ${port}, ${label})
        on conflict (computer_id, port) do update set label = excluded.label, updated_at = now()`.execute(db)
  },
}
