import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { testDatabase } from '../database.ts'

test('the test database refuses to compare an ID with text', async () => {
  await using database = await testDatabase()
  const client = new pg.Client(database.connection)
  await client.connect()
  const outcome = (text: string, values: unknown[] = []): Promise<string> =>
    client.query(text, values).then(
      () => 'read',
      (error: Error) => error.message,
    )
  const shell = /^operator is only a shell/
  try {
    for (const condition of [
      `id = $1::text`,
      `$1::text = id`,
      `id = any($1::text[])`,
      `id <> all($1::text[])`,
      `id in (select $1::text)`,
      `id > $1::text`,
      `(created_at, id) < (now(), $1::text)`,
      `id = any(array(select x ->> 'call_id' from jsonb_array_elements('[]') x where $1 <> ''))`,
      `id is not distinct from $1::text`,
      `exists (select from outbox o where o.resource_id = calls.id and o.resource_id <> $1)`,
    ])
      assert.match(
        await outcome(`select /* on purpose */ from calls where ${condition}`, [
          condition.includes('[]') && !condition.includes('jsonb') ? ['x'] : 'x',
        ]),
        shell,
        condition,
      )
    for (const condition of [`id = $1`, `id = $1::ulid`, `id > $1`, `id in ($1, $2)`])
      assert.equal(
        await outcome(
          `select /* on purpose */ from calls where ${condition}`,
          condition.includes('$2') ? ['x', 'y'] : ['x'],
        ),
        'read',
        condition,
      )
    for (const condition of [`id = any($1)`, `id = any($1::ulid[])`, `id = any($1::bpchar[])`])
      assert.equal(await outcome(`select /* on purpose */ from calls where ${condition}`, [['x']]), 'read', condition)
  } finally {
    await client.end()
  }
})
