import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { logSettledStep } from '#modules/chats/runs/interrupted.ts'
import { runStore } from '#modules/chats/runs/run-store.ts'
import { testServer } from '../server.ts'
import { until } from '../until.ts'

test('when two processes learn the cost of a dead process’s call at once, its run and message count it once', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { ledger, postgres } = server.app.engine
  const { db, pool } = postgres
  const chat = (await alice.post('/chats', { model: 'sim/echo' })).body.data.id
  const { run } = (await alice.post(`/chats/${chat}/messages`, { content: 'a dozen words' })).body.data
  await ledger.flush()
  assert.ok(run.cost_usd > 0)
  // As if the process had died before it wrote the step.
  const { rows: steps } = await pool.query('delete from steps where run_id = $1 returning *', [run.id])
  await pool.query('update runs set cost_nano = null where id = $1', [run.id])

  const row = (await runStore.get(db, chat, run.id))!
  const first = await db.startTransaction().execute()
  await logSettledStep(first, row)
  const second = db.transaction().execute((tx) => logSettledStep(tx, row))
  await until(
    async () =>
      (await sql<{ n: number }>`select count(*)::int as n from pg_locks where not granted`.execute(db)).rows[0]!.n,
    (waiting) => waiting > 0,
  )
  await first.commit().execute()
  await second
  const after = (await alice.get(`/chats/${chat}/runs/${run.id}`)).body.data
  assert.equal(after.cost_usd, run.cost_usd)
  const { rows } = await pool.query('select * from steps where run_id = $1', [run.id])
  assert.deepEqual([steps.length, rows.length], [1, 1])
})
