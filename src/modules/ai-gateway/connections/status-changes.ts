import { sql } from 'kysely'
import { writeOutboxAll } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { type ConnectionState, type Reason, reasonWords } from './connection-state.ts'

interface Before {
  id: Id
  status: ConnectionState['status']
  /** Whether it has ever succeeded. */
  worked: boolean
}

interface Row {
  connection: Id
  status: ConnectionState['status']
  reason: Reason | null
  id: Id
  slug: string
  name: string
  workspace_id: Id | null
  account_id: Id | null
  /** Null: the creator left the workspace. */
  created_by: Id | null
}

export async function announceChanges(db: Db, before: readonly Before[]): Promise<boolean> {
  const previousById = new Map(before.map((row) => [row.id, row]))
  const { rows } = await sql<Row>`
    select c.id as connection, c.status, c.reason, e.id, e.slug, e.name, e.workspace_id, e.account_id,
      case when e.workspace_id is null or exists (select from members m
        where m.workspace_id = e.workspace_id and m.account_id = e.created_by) then e.created_by end as created_by
    from provider_connections c join provider_endpoints e on e.connection = c.id
    where c.id = any(${[...previousById.keys()]}::bpchar[]) and e.enabled`.execute(db)
  const events = rows.flatMap((row) => {
    const { status, worked } = previousById.get(row.connection)!
    return status === row.status ? [] : [changeEvent(row, status, worked)]
  })
  await writeOutboxAll(db, events, null)
  return events.length > 0
}

function changeEvent(row: Row, before: ConnectionState['status'], hasWorked: boolean) {
  const { id, slug, name, status, reason, workspace_id } = row
  const owner = row.account_id ?? row.created_by
  return {
    type: 'provider_endpoint.status_changed',
    channels: [
      ...(workspace_id === null ? [] : [`workspace:${workspace_id}`]),
      ...(owner === null ? [] : [`user:${owner}`]),
    ],
    resource: { type: 'provider_endpoint', id },
    data: {
      id,
      workspace_id,
      slug,
      name,
      status,
      before,
      worked_before: hasWorked,
      reason,
      message: reasonWords(reason),
    },
  }
}
