import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '#core/ids.ts'
import { testDatabase } from '#test/database.ts'
import { connectPostgres } from '../postgres/client.ts'
import { retainSpends } from './retain.ts'

test('sums of ended runs are deleted, and those of active runs, keys and reservations are kept', async (t) => {
  const database = await testDatabase()
  const postgres = connectPostgres(database.connection, () => {})
  t.after(async () => {
    await postgres[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })
  const { pool } = postgres
  const client = await pool.connect()
  // Only runs matter here, so foreign keys to chats are disabled.
  await client.query('set session_replication_role = replica')
  const run = async (status: string, completedAt: string | null): Promise<string> => {
    const id = newId()
    await client.query(
      `insert into runs (id, chat_id, workspace_id, account_id, status, on_busy, model, input_message_id, completed_at)
        values ($1, $1, $1, $1, $2, 'reject', 'm', $1, now() - $3::interval)`,
      [id, status, completedAt],
    )
    return id
  }
  const spend = async (subject: string, period: string, heldNano = 0): Promise<string> => {
    await client.query('insert into spends (subject, period, nano, held) values ($1, $2, 5, $3)', [
      subject,
      period,
      heldNano,
    ])
    return `${subject} ${period}`
  }
  for (const status of ['completed', 'failed', 'cancelled']) await spend(await run(status, '25 hours'), 'total')
  await spend(newId(), '2020-01-01')
  const retainedIds = [
    await spend(await run('completed', '23 hours'), 'total'),
    await spend(await run('running', null), 'total'),
    await spend(await run('completed', '25 hours'), 'total', 3),
    await spend(newId(), 'total'),
  ]
  client.release(true)
  await retainSpends(postgres)
  const { rows } = await pool.query<{ line: string }>(`select subject || ' ' || period as line from spends`)
  assert.deepEqual(rows.map(({ line }) => line).toSorted(), retainedIds.toSorted())
})
