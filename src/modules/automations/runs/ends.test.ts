import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Row, failing, fire, isOver, isRunning, make, runIs, slow } from '#test/automations/hooks.ts'
import { createLog } from '#infra/log.ts'
import { type Person, testServer } from '#test/server.ts'
import { becomes, until } from '#test/until.ts'
import { tendRuns } from './outcomes.ts'

const chatRun = async (person: Person, { chat_id, run_id }: Row): Promise<string> =>
  (await person.get(`/chats/${chat_id}/runs/${run_id}`)).body.data.status
async function chatRunIs(person: Person, run: Row, status: string): Promise<void> {
  await becomes(() => chatRun(person, run), status)
}

test('canceling a run or deleting its automation stops its chat run; queued runs never start, and chats are kept', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const hook = await make(alice, { overlap: 'queue' }, 'sim/script', slow)
  const [first, second, third] = [
    (await fire(server, hook)).body.data,
    (await fire(server, hook)).body.data,
    (await fire(server, hook)).body.data,
  ]
  const cancel = (id: string) => alice.post(`/automations/${hook.id}/runs/${id}/cancel`)
  assert.equal((await cancel(second.id)).body.data.status, 'cancelled', 'it waited')
  const going = await runIs(alice, hook, first.id, isRunning)
  assert.equal((await cancel(first.id)).body.data.status, 'cancelled')
  await chatRunIs(alice, going, 'cancelled')
  const again = await cancel(first.id)
  assert.deepEqual([again.status, again.body.data.status], [200, 'cancelled'], 'once more changes nothing')

  const last = await runIs(alice, hook, third.id, isRunning)
  assert.equal((await runIs(alice, hook, second.id, isOver)).chat_id, null)
  assert.deepEqual((await alice.delete(`/automations/${hook.id}`)).body, { deleted: true, id: hook.id })
  await chatRunIs(alice, last, 'cancelled')
  assert.equal((await alice.get(`/automations/${hook.id}`)).status, 404)
  assert.equal((await fire(server, hook)).status, 401, 'as an address that never was')
  for (const { chat_id } of [going, last]) assert.equal((await alice.get(`/chats/${chat_id}`)).status, 200)
})

test('a run over its time limit is stopped as timed out, also in its chat, and can be retried', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const hook = await make(alice, { timeout_seconds: 600 }, 'sim/script', slow)
  const { id } = (await fire(server, hook, { order: 4711 })).body.data
  const going = await runIs(alice, hook, id, isRunning)
  const { postgres } = server.app.engine
  const longAgo = (seconds: number) =>
    postgres.pool.query(`update automation_runs set started_at = now() - make_interval(secs => $2) where id = $1`, [
      id,
      seconds,
    ])
  await longAgo(590)
  await tendRuns(server.app.engine)
  assert.equal((await runIs(alice, hook, id, () => true)).status, 'running', 'it has ten seconds more')
  await longAgo(601)
  const late = await runIs(alice, hook, id, isOver)
  assert.deepEqual([late.status, late.error.type], ['timed_out', 'timeout'])
  await chatRunIs(alice, going, 'cancelled')
  assert.equal((await alice.get(`/automations/${hook.id}/cost-stats`)).body.data.failed, 1)
  const again = await alice.post(`/automations/${hook.id}/runs/${id}/retry`)
  assert.deepEqual([again.status, again.body.data.attempt], [202, 2])
  const second = await runIs(alice, hook, id, ({ attempt, status }) => attempt === 2 && status === 'running')
  assert.notEqual(second.chat_id, going.chat_id)
  const [partialMessage] = (await alice.get(`/chats/${second.chat_id}/messages`)).body.data
  assert.match(partialMessage.content[1].text, /4711/, 'with what the webhook brought')
  assert.equal((await alice.post(`/automations/${hook.id}/runs/${id}/cancel`)).status, 200)
})

test('a run whose end can’t be written delays no other run', async () => {
  await using server = await testServer({ log: createLog('silent') })
  const alice = await server.person('Alice')
  const { postgres } = server.app.engine
  const [stuck, unheard] = [await make(alice, {}, 'sim/script', slow), await make(alice)]
  const runs: string[] = []
  for (const hook of [stuck, unheard]) {
    const { id } = (await fire(server, hook)).body.data
    runs.push((await runIs(alice, hook, id, ({ run_id }) => run_id !== null)).id)
  }
  await runIs(alice, unheard, runs[1]!, isOver)
  await postgres.pool.query(
    `create function refuse() returns trigger language plpgsql as 'begin raise exception ''no''; end'`,
  )
  await postgres.pool.query(
    `create trigger refuse before update on automation_runs for each row when (old.id = '${runs[0]}') execute function refuse()`,
  )
  // It's long over, and its event was lost.
  await postgres.pool.query(
    `update automation_runs set status = 'running', completed_at = null, started_at = now() - interval '2 minutes' where id = $1`,
    [runs[1]],
  )
  await postgres.pool.query(`update automations set overlap = 'cancel_previous' where id = $1`, [stuck.id])
  await postgres.pool.query(
    `insert into automation_runs (id, automation_id, workspace_id, status, trigger) select '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', automation_id, workspace_id, 'queued', 'test'
      from automation_runs where id = $1`,
    [runs[0]],
  )
  await tendRuns(server.app.engine)
  assert.equal((await runIs(alice, unheard, runs[1]!, isOver)).status, 'succeeded')
  assert.equal((await runIs(alice, stuck, runs[0]!, () => true)).status, 'running')
})

test('after nine failures, a simultaneous success and failure don’t count as the tenth in a row', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const hook = await make(alice, { overlap: 'allow' }, 'sim/script', failing)
  const other = await make(alice, {}, 'sim/script', slow)
  const { pool } = server.app.engine.postgres
  await pool.query('update automations set failures = 9 where id = $1', [hook.id])
  // While `other` is locked, the outcomes of all ended runs are collected into one batch.
  const lockClient = await pool.connect()
  try {
    const { id } = (await fire(server, other)).body.data
    const { chat_id } = await runIs(alice, other, id, isRunning)
    await lockClient.query('begin')
    await lockClient.query('select 1 from automations where id = $1 for update', [other.id])
    await alice.post(`/chats/${chat_id}/stop`)
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until(
      () => pool.query(waits),
      ({ rowCount }) => rowCount !== 0,
    )
    const answeredBy = (model: string) =>
      pool.query(
        `update agents set model = $2 where id = (select (action->>'agent_id')::ulid from automations where id = $1)`,
        [hook.id, model],
      )
    await answeredBy('sim/echo')
    const good = (await fire(server, hook)).body.data
    await chatRunIs(alice, await runIs(alice, hook, good.id, isRunning), 'completed')
    await answeredBy('sim/script')
    const bad = (await fire(server, hook)).body.data
    await chatRunIs(alice, await runIs(alice, hook, bad.id, isRunning), 'failed')
    await lockClient.query('commit')
    assert.equal((await runIs(alice, hook, good.id, isOver)).status, 'succeeded')
    assert.equal((await runIs(alice, hook, bad.id, isOver)).status, 'failed')
  } finally {
    lockClient.release()
  }
  const { status, paused_reason } = (await alice.get(`/automations/${hook.id}`)).body.data
  assert.deepEqual([status, paused_reason], ['active', null])
})
