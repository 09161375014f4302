// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { createLog } from '#infra/log.ts'
import { testDatabase } from '../database.ts'
import { readEvents } from '../events.ts'
import { type Caller, testServer } from '../server.ts'
import { wayToDatabase } from '../outside/way.ts'
import { becomes } from '../until.ts'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('when the database connection dies silently, waiting callers get answers and broadcasts resume', async () => {
  await using database = await testDatabase()
  using way = await wayToDatabase(database.connection)
  await using near = await testServer({
    database: { ...database, connection: way.connection },
    // The failure is logged as expected.
    log: createLog('silent'),
  })
  await using far = await testServer({ database })
  const alice = await near.person('Alice')
  const elsewhere: Caller = { ...alice, ...(await far.person('Bob')) }
  const { id: teamId } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const invitation = await alice.post(`/workspaces/${teamId}/invitations`, { email: 'bob@example.com' })
  assert.equal((await elsewhere.post('/invitations/accept', { token: invitation.body.data.token })).status, 200)
  const events = readEvents(alice, `/realtime/subscribe?channels=custom:${teamId}:room`)
  assert.equal((await events.next()).value!.event, 'subscribed')
  // Several connections, so that several die.
  await Promise.all(Array.from({ length: 8 }, () => alice.get('/chats')))

  way.swallow()
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => (i % 2 ? alice.get('/chats') : alice.post('/chats', { title: `${i}` }))),
  )
  for (const { status, text } of answers) assert.ok([200, 201, 503].includes(status), text)
  await becomes(async () => (await alice.get('/chats')).status, 200)

  const ticker = setInterval(
    () => void elsewhere.post(`/realtime/custom:${teamId}:room/broadcast`, { event: 'again' }).catch(() => {}),
    250,
  )
  assert.equal((await events.next()).value!.data.event, 'again')
  clearInterval(ticker)
  await events.return()
})

test('slow statements and idle transactions aren’t interrupted', async () => {
  await using server = await testServer()
  const { pool, db } = server.app.engine.postgres
  const [slept, counted] = await Promise.all([
    pool.query('select 7 as n from pg_sleep(4)'),
    db.transaction().execute(async (tx) => {
      await sql`select 1`.execute(tx)
      await pause(4_000)
      return (await sql<{ n: number }>`select 8 as n`.execute(tx)).rows
    }),
  ])
  assert.deepEqual([...slept.rows, ...counted], [{ n: 7 }, { n: 8 }])
})

test('connections that break during transactions end the transactions, not the server', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { pool, db } = server.app.engine.postgres
  const queryError = await db
    .transaction()
    .execute(async (tx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
      await pool.query('select pg_terminate_backend($1, 60_000)', [rows[0]!.pid])
      await sql`select 1`.execute(tx)
    })
    .catch((error: Error) => error)
  assert.ok(queryError instanceof Error)
  assert.equal((await alice.get('/chats')).status, 200)
})
