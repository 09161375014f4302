import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { testDatabase } from '#test/database.ts'
import { connectBus } from './bus.ts'
import { createLog } from './log.ts'
import { connectPostgres } from './postgres/client.ts'

test('after its database was away the bus listens once, not once per attempt', async () => {
  await using database = await testDatabase()
  // A way to the database that can be closed.
  const sockets = new Set<Socket>()
  let attempts = 0
  let open = true
  const way = createServer((inner) => {
    attempts += 1
    if (!open) return void inner.destroy()
    const outer = connect(`${database.connection.host}/.s.PGSQL.${database.connection.port}`)
    for (const socket of [inner, outer]) sockets.add(socket.on('error', () => {}))
    inner.pipe(outer).pipe(inner)
  })
  way.listen(0, '127.0.0.1')
  await once(way, 'listening')
  const { port } = way.address() as AddressInfo
  await using postgres = connectPostgres(database.connection, () => {})
  const through = { ...postgres, connection: { ...database.connection, host: '127.0.0.1', port } }
  const bus = await connectBus(through, createLog('silent'))
  try {
    const listening = async (): Promise<number> =>
      (
        await postgres.pool.query(
          `select 1 from pg_stat_activity where application_name = 'ukiyo bus' and datname = current_database()`,
        )
      ).rowCount!
    assert.equal(await listening(), 1)
    open = false
    attempts = 0
    for (const socket of sockets) socket.destroy()
    // Time enough for several attempts; each of them once bred two.
    await new Promise((resolve) => setTimeout(resolve, 5_000))
    assert.ok(attempts >= 2 && attempts <= 10, `${attempts} attempts in 5 s`)
    open = true
    while ((await listening()) === 0) await new Promise((resolve) => setTimeout(resolve, 50))
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    assert.equal(await listening(), 1)
  } finally {
    await bus[Symbol.asyncDispose]()
    way.close()
    for (const socket of sockets) socket.destroy()
  }
})
