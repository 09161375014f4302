// Long test: runs in the merge check or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectPostgres } from '#infra/postgres/client.ts'
import { script } from '#test/chats/chats.ts'
import { testDatabase } from '#test/database.ts'
import { doomedServer } from '#test/chats/doomed.ts'
import { type SentEvent, allEvents, readEvents, types } from '#test/events.ts'
import { type Caller, caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const createChat = async (who: Caller): Promise<string> =>
  (await who.post('/chats', { model: 'sim/script' })).body.data.id
const inBackground = async (who: Caller, chat: string, content: string): Promise<string> =>
  (await who.post(`/chats/${chat}/messages`, { content, background: true })).body.data.resource.id
const runOf = async (who: Caller, chat: string, run: string) => (await who.get(`/chats/${chat}/runs/${run}`)).body.data

/** Starts an answer that says `text`, then continues for `ms`. Resolves once the text was streamed. */
async function begun(who: Caller, chat: string, text: string, ms: number): Promise<{ run: string; seen: SentEvent[] }> {
  const seen: SentEvent[] = []
  const body = { content: script({ text }, { delay_ms: ms }, { text: ' the end' }) }
  for await (const event of readEvents(who, `/chats/${chat}/messages/stream`, { body })) {
    seen.push(event)
    if (event.event === 'text.delta') break
  }
  return { run: seen[0]!.data.run_id, seen }
}

test('after a server is killed, partial answers fail, unseen runs restart, and queued runs start', async () => {
  await using doomed = await doomedServer()
  const there = doomed.alice
  const visibleChat = await createChat(there)
  const { run, seen } = await begun(there, visibleChat, 'already said', 60_000)
  const waits = await inBackground(there, visibleChat, script({ text: 'at last' }))
  const silent = await createChat(there)
  const quiet = await inBackground(there, silent, script({ delay_ms: 1_500 }, { text: 'only once' }))
  await doomed.kill()

  await using server = await testServer({ database: doomed.database })
  const here = caller(server.origin, there.headers)
  const log = await allEvents(here, `/chats/${visibleChat}/runs/${run}/events`)
  assert.deepEqual(log.slice(0, seen.length), seen)
  assert.deepEqual([log.at(-1)!.event, log.at(-1)!.data.error.code], ['run.failed', 'interrupted'])
  assert.deepEqual(
    log.map(({ id }) => Number(id)),
    log.map((_, i) => i + 1),
  )
  const [, keptMessage] = (await here.get(`/chats/${visibleChat}/messages`)).body.data
  const deltaText = log.map(({ event, data }) => (event === 'text.delta' ? data.delta : '')).join('')
  assert.deepEqual([keptMessage.status, keptMessage.text], ['failed', deltaText])
  assert.ok(deltaText.startsWith('already'))

  const next = await allEvents(here, `/chats/${visibleChat}/runs/${waits}/events`)
  assert.equal(next.at(-3)!.data.message.text, 'at last')
  const again = await allEvents(here, `/chats/${silent}/runs/${quiet}/events`)
  assert.deepEqual(
    types(again).filter((type) => type === 'run.started' || type === 'run.completed'),
    ['run.started', 'run.completed'],
  )
  assert.equal(again.at(-3)!.data.message.text, 'only once')

  const retried = await here.post(`/chats/${visibleChat}/runs/${run}/retry`, { background: true })
  assert.equal(retried.status, 202)
  assert.equal((await here.post(`/chats/${visibleChat}/stop`)).body.data.status, 'cancelled')
})

test('an interrupted answer’s cost reaches its message, run and chat after the server is killed', async () => {
  await using doomed = await doomedServer()
  const there = doomed.alice
  const chat = await createChat(there)
  // Connects early, to see the first estimate.
  await using watching = connectPostgres(doomed.database.connection, () => {})
  const { pool } = watching
  await pool.query('select')
  const { run } = await begun(there, chat, 'a dozen words that somebody has to pay for, whatever happens next', 60_000)
  // First the input's upper bound, then about a second later the output so far.
  const marked = async (): Promise<bigint | undefined> =>
    (await pool.query<{ estimate: bigint }>('select estimate from reservations where sent_at is not null')).rows[0]
      ?.estimate
  const bound = await until(marked, (nano) => nano !== undefined)
  await until(marked, (nano) => nano! > bound!)
  await doomed.kill()
  // The database may still execute a dead server's last statement.
  let before: bigint | undefined
  const estimate = (await until(
    async () => {
      const now = await marked()
      const settled = now === before
      before = now
      await new Promise((resolve) => setTimeout(resolve, 200))
      return settled ? now : undefined
    },
    (nano) => nano !== undefined,
  ))!

  await using server = await testServer({ database: doomed.database })
  const here = caller(server.origin, there.headers)
  const endedRun = await until(
    () => runOf(here, chat, run),
    ({ status, cost_usd }) => status !== 'running' && cost_usd !== null,
  )
  const expected = Number(estimate) / 1e9
  assert.deepEqual([endedRun.status, endedRun.cost_usd], ['failed', expected])
  const [, message] = (await here.get(`/chats/${chat}/messages`)).body.data
  assert.deepEqual([message.cost_usd, message.model], [expected, 'sim/script'])
  assert.equal((await here.get(`/chats/${chat}/cost`)).body.data.cost_usd, expected)
})

test('a stopping server waits for runs, then hands over or ends the remaining ones', async () => {
  await using database = await testDatabase()
  const first = await testServer({ database })
  const alice = await first.person('Alice')
  const chats = await Promise.all([createChat(alice), createChat(alice), createChat(alice)])
  const short = await begun(alice, chats[0], 'short', 300)
  const long = await begun(alice, chats[1], 'long', 60_000)
  const response = await alice.post(`/chats/${chats[2]}/messages`, {
    content: script({ delay_ms: 3_000 }, { text: 'later' }),
    background: true,
  })
  const operation = response.body.data.id
  const quiet = response.body.data.resource.id
  const patient = alice.post(`/chats/${await createChat(alice)}/messages`, {
    content: script({ delay_ms: 400 }, { text: 'just in time' }),
  })
  const begins = until(
    async () => (await alice.get('/chats?limit=1')).body.data[0].active_run_id,
    (id) => id !== null,
  )
  await Promise.race([begins, patient])
  await first[Symbol.asyncDispose]()
  assert.deepEqual([(await patient).status, (await patient).body.data?.text], [200, 'just in time'])

  await using second = await testServer({ database })
  const there = caller(second.origin, alice.headers)
  assert.equal((await runOf(there, chats[0], short.run)).status, 'completed')
  const failed = await runOf(there, chats[1], long.run)
  assert.deepEqual([failed.status, failed.error.code], ['failed', 'interrupted'])
  assert.ok(failed.cost_usd > 0)
  const log = await allEvents(there, `/chats/${chats[2]}/runs/${quiet}/events`)
  assert.deepEqual([types(log)[0], log.at(-3)!.data.message.text], ['run.started', 'later'])
  let state = (await there.get(`/operations/${operation}`)).body.data
  while (['queued', 'running'].includes(state.status))
    state = (await there.get(`/operations/${operation}/await?since_status=${state.status}`)).body.data
  assert.deepEqual([state.status, state.result?.text], ['succeeded', 'later'])
})

test('a process that lost its run writes nothing more', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const chat = await createChat(alice)
  const { run } = await begun(alice, chat, 'mine', 2_000)
  // Imitates a takeover by another process.
  const { pool } = server.app.engine.postgres
  await pool.query(`update runs set fence = fence + 1, process_id = $2 where id = $1`, [run, '0'.repeat(26)])
  const events = await allEvents(alice, `/chats/${chat}/runs/${run}/events`)
  assert.deepEqual(
    types(events).filter((type) => type.startsWith('run.')),
    ['run.started', 'run.failed'],
  )
  assert.equal(events.map(({ data }) => data.delta ?? '').join(''), 'mine')
})
