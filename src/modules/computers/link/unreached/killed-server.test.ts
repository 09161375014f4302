/** A computer's row names a server process that was just killed and whose lease hasn't expired. */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { sql } from 'kysely'
import { asksOf } from '#test/link/asks.ts'
import { linkUp } from '#test/link/daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { twoServers } from '#test/two-servers.ts'
import { until } from '#test/until.ts'
import { newId } from '#core/ids.ts'
import { Refusal } from '#core/errors.ts'
import { type OperationName, operations } from '#daemon-protocol/operations.ts'

const { server, twin, alice, beyond } = await twoServers()
const { asks } = asksOf({ server, twin, alice, beyond })
const { db } = server.app.engine.postgres

/**
 * Another provider may answer a model call, a probe only asks whether the computer is online, and a job repeats a drop.
 */
const NEVER_WAITS: readonly OperationName[] = ['daemon.probe', 'engine.call', 'engine.models', 'fs.upload_drop']

test('every call waits for a computer whose server process was killed', async () => {
  const waitingOperations = (Object.keys(operations) as OperationName[]).filter((op) => !NEVER_WAITS.includes(op))
  await Promise.all(waitingOperations.map(tryOne))
})

async function tryOne(op: OperationName): Promise<void> {
  let tries = 0
  const dead = createServer((socket) => {
    tries++
    socket.on('error', () => {}).destroy()
  })
  await new Promise<void>((resolve) => dead.listen(0, '127.0.0.1', resolve))
  try {
    const { id, credential } = await pairedComputer(alice)
    const processId = newId()
    const peer = `127.0.0.1:${(dead.address() as AddressInfo).port}`
    await sql`insert into processes (id, expires_at, pid, peer)
      values (${processId}, now() + interval '10 minutes', 1, ${peer})`.execute(db)
    await sql`update computers set link_process_id = ${processId}, last_seen_at = now() where id = ${id}`.execute(db)
    const answer = asks[op](id, alice)
    await until(
      async () => tries,
      (count) => count > 0,
    )
    const operationNames: string[] = []
    using _linked = await linkUp(server.origin, credential, ({ op }) => {
      operationNames.push(op)
      return Promise.reject(new Refusal('not_found', { message: 'Asked at last.' }))
    })
    await answer
    assert.ok(operationNames.includes(op), `${operationNames.join()} and not ${op}`)
    await sql`delete from processes where id = ${processId}`.execute(db)
  } finally {
    await new Promise((resolve) => dead.close(resolve))
  }
}
