import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { sequencesOf, tablesOf } from '../backup/database.ts'
import { testDatabase } from '#test/database.ts'
import { ownNames } from './own-names.ts'

test('every table and sequence of a new database is known as ours', async () => {
  await using database = await testDatabase()
  const client = new pg.Client(database.connection)
  await client.connect()
  try {
    const { tables, sequences } = ownNames()
    const strange = [
      ...(await tablesOf(client)).filter(({ name }) => !tables.has(name)),
      ...(await sequencesOf(client)).filter(({ name, table }) =>
        table === null ? !sequences.has(name) : !tables.has(table),
      ),
    ]
    assert.deepEqual(
      strange.map(({ name }) => name),
      [],
    )
  } finally {
    await client.end()
  }
})
