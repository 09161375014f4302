import { sql } from 'kysely'
import { type Id, newId } from '#core/ids.ts'
import type { Db } from '../postgres/client.ts'

export async function keptValue<T>(db: Db, name: string, fresh: T): Promise<T> {
  await sql`insert into instance (name, value) values (${name}, ${JSON.stringify(fresh)}::jsonb) on conflict do nothing`.execute(
    db,
  )
  const { rows } = await sql<{ value: T }>`select value from instance where name = ${name}`.execute(db)
  return rows[0]!.value
}

export async function valueOf(db: Db, name: string): Promise<unknown> {
  const { rows } = await sql<{ value: unknown }>`select value from instance where name = ${name}`.execute(db)
  return rows[0]?.value ?? null
}

export async function keepValue(db: Db, name: string, value: unknown): Promise<void> {
  await sql`insert into instance (name, value) values (${name}, ${JSON.stringify(value)}::jsonb)
    on conflict (name) do update set value = excluded.value`.execute(db)
}

export async function replaceValue<T>(db: Db, name: string, before: T, now: T): Promise<void> {
  await sql`update instance set value = ${JSON.stringify(now)}::jsonb
    where name = ${name} and value = ${JSON.stringify(before)}::jsonb`.execute(db)
}

export const instanceId = (db: Db): Promise<Id> => keptValue(db, 'id', newId())
