// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withWord } from '#test/computers/keeper.ts'
import { testDatabase } from '#test/database.ts'
import { type Home, daemonHome, continueDaemon, runDaemonAt } from '#test/link/run-daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { type Caller, type TestServer, caller, testServer } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'

/** Unique sleep durations, so processes can be found by them. */
const seconds = (which: number): string => String(3_000_000 + which * 100_000 + process.pid)
/** Ignores signals, and starts a child in its own session that does too. */
const STUBBORN = (time: string): string =>
  `trap '' TERM HUP INT; setsid sh -c "trap '' TERM; sleep ${time} & wait; sleep ${time}" & echo up; wait; sleep ${time}`

async function startCommand(alice: Caller, computerId: string, time: string): Promise<string> {
  const answer = await alice.post(`/computers/${computerId}/exec`, { command: STUBBORN(time), background: true })
  assert.equal(answer.status, 202, answer.text)
  await until(
    async () => [(await alice.get(`/operations/${answer.body.data.id}/content`)).text, withWord(time).length] as const,
    ([text, count]) => text.includes('up') && count > 0,
  )
  return answer.body.data.id
}
const statusOf = async (alice: Caller, id: string): Promise<string> =>
  (await alice.get(`/operations/${id}`)).body.data.status
async function away(server: TestServer, alice: Caller, computerId: string): Promise<void> {
  await until(
    async () => (await alice.get(`/computers/${computerId}`)).body.data.connection,
    (connection) => connection === 'offline',
  )
  assert.equal(await server.app.engine.links.online(computerId, 0), false)
}

/** What happens while the command's computer is offline, in order. */
const ORDERS = {
  'canceled, then the server restarts': ['cancel', 'restart'],
  'the server restarts, then it is canceled': ['restart', 'cancel'],
  'its key is revoked, then the server restarts': ['revoke', 'restart'],
} as const

for (const [at, [what, steps]] of Object.entries(ORDERS).entries())
  test(`an unwanted background command and its children end once its computer reconnects: ${what}`, async () => {
    await using database = await testDatabase()
    await using home: Home = daemonHome()
    let server = await testServer({ database })
    const { port } = new URL(server.origin)
    try {
      const person = await server.person('Alice')
      let alice: Caller = person
      const key = await person.key()
      const { id, credential } = await pairedComputer(person)
      const daemon = await runDaemonAt(home, server.origin, { id, credential })
      assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
      const [ends, stays] = [seconds(at), seconds(at + 50)]
      const operation = await startCommand(caller(server.origin, key.headers), id, ends)
      const other = await startCommand(alice, id, stays)
      await daemon[Symbol.asyncDispose]()
      await away(server, alice, id)

      for (const step of steps) {
        if (step === 'restart') {
          await server[Symbol.asyncDispose]()
          server = await testServer({ database, environment: { UK_PORT: port } })
          alice = caller(server.origin, person.headers)
        } else if (step === 'cancel') {
          const response = await alice.post(`/operations/${operation}/cancel`)
          assert.equal(response.status, 200, response.text)
        } else assert.equal((await alice.delete(`/api-keys/${key.keyId}`)).status, 200)
        if (step !== 'restart')
          await until(
            () => statusOf(alice, operation),
            (status) => status === (step === 'cancel' ? 'cancelled' : 'failed'),
          )
      }
      assert.ok(withWord(ends).length > 0, 'nobody could tell the computer yet')

      await using _back = continueDaemon(home)
      await until(
        async () => withWord(ends),
        (processes) => processes.length === 0,
      )
      // Other commands continue, and their callers can still follow them.
      assert.ok(withWord(stays).length > 0)
      await until(
        () => statusOf(alice, other),
        (status) => status === 'running',
      )
      assert.equal((await alice.post(`/operations/${other}/cancel`)).status, 200)
      await until(
        async () => withWord(stays),
        (processes) => processes.length === 0,
      )
      const { pool } = server.app.engine.postgres
      // Past the delay of late calls.
      await pool.query(
        `update operations set completed_at = completed_at - interval '2 minutes' where completed_at is not null`,
      )
      await until(
        async () => (await pool.query('select from computer_commands')).rowCount,
        (count) => count === 0,
      )
    } finally {
      await server[Symbol.asyncDispose]()
    }
  })
