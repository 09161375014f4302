import { test } from 'node:test'
import assert from 'node:assert/strict'
import { rotateUnderTraffic } from '#test/automations/rotation.ts'
import { deliverUntilTaken, makeHook } from '#test/automations/senders.ts'
import { testDatabase } from '#test/database.ts'
import { testServer } from '#test/server.ts'

test('rotating secrets under traffic to two processes rejects no valid delivery', async (t) => {
  await using server = await testServer({ environment: { UK_LIMIT_INFERENCE: '0' } })
  await using twin = await server.twin()
  const traffic = await rotateUnderTraffic([server, twin], { seconds: 3, everyMs: 300, overlapSeconds: 60 })
  t.diagnostic(JSON.stringify(traffic))
  assert.ok(traffic.rotations > 1)
})

test('repeated deliveries during restarts of the server start one run', async () => {
  await using database = await testDatabase()
  const options = { database, environment: { UK_LIMIT_INFERENCE: '0' } }
  let server = await testServer(options)
  try {
    const alice = await server.person('Alice')
    const hook = await makeHook(alice)
    const twentieth = Promise.withResolvers<void>()
    let responseCount = 0
    const deliveries = Array.from({ length: 60 }, async () => {
      const answer = await deliverUntilTaken(() => server.origin, hook, 'msg_1')
      if (++responseCount === 20) twentieth.resolve()
      return answer
    })
    await twentieth.promise
    await server[Symbol.asyncDispose]()
    server = await testServer(options)
    const answers = await Promise.all(deliveries)
    assert.equal(new Set(answers.map(({ body }) => body.data.id)).size, 1)
    assert.ok(answers.filter(({ status }) => status === 202).length <= 1)
    const { rows } = await server.app.engine.postgres.pool.query('select id from automation_runs')
    assert.equal(rows.length, 1)
  } finally {
    await server[Symbol.asyncDispose]()
  }
})
