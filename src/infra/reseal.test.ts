import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KyselyPlugin } from 'kysely'
import { testServer } from '#test/server.ts'
import { newId } from '#core/ids.ts'
import { resealAll } from './reseal.ts'
import { createSecrets } from './secrets.ts'

const places = [{ table: 'model_requests', columns: ['sealed'] }]
const [older, newer] = ['an older root key of forty characters ...', 'a newer root key of forty characters ...']

test('large secrets are re-encrypted one at a time to limit memory', async () => {
  await using server = await testServer()
  const { postgres, log } = server.app.engine
  const before = createSecrets([older])
  const secrets = createSecrets([newer, older])
  const words = 'w'.repeat(1 << 20)
  const ids = Array.from({ length: 12 }, () => newId())
  for (const id of ids)
    await postgres.pool.query(`insert into model_requests (id, run_id, index, sealed) values ($1, $1, 1, $2)`, [
      id,
      before.seal(words, id),
    ])
  let largest = 0
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      largest = Math.max(largest, JSON.stringify(result.rows).length)
      return result
    },
  }
  const engine = { postgres: { ...postgres, db: postgres.db.withPlugin(plugin) }, secrets, log }
  await resealAll(engine, places, new AbortController().signal)
  assert.ok(largest < 2 * words.length, `${largest} characters at once`)

  const only = createSecrets([newer])
  const { rows } = await postgres.pool.query<{ id: string; sealed: string }>('select id, sealed from model_requests')
  assert.deepEqual(rows.map(({ id }) => id).toSorted(), ids.toSorted())
  for (const { id, sealed } of rows) assert.equal(only.open(sealed, id), words)
  // Values encrypted with the newest key aren't read completely.
  largest = 0
  await resealAll(engine, places, new AbortController().signal)
  assert.ok(largest < 10_000, `${largest} characters at once`)
})
