import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { pushService } from '#test/outside/push-service.ts'
import { ended } from '#test/operations/ended.ts'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

test('an unresponsive push service uses one job slot, however many pushes are queued for it', async () => {
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.0/8' } })
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  await using browser = await pushService(() => '')
  let open = false
  let most = 0
  const held = new Set<ServerResponse>()
  const http = createServer((request, response) => {
    request.resume()
    if (open) return void response.writeHead(201).end()
    held.add(response)
    most = Math.max(most, held.size)
  }).listen(0, '127.0.0.1')
  await once(http, 'listening')
  await using _closed = {
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        http.closeAllConnections()
        http.close(() => resolve())
      }),
  }
  const endpoint = `http://127.0.0.1:${(http.address() as AddressInfo).port}/push`
  const made = await bob.post('/notifications/push-subscriptions', { ...browser.subscription, endpoint })
  assert.equal(made.status, 201, made.text)
  for (let n = 0; n < 60; n++) assert.equal((await bob.post('/notifications', { title: `word ${n}` })).status, 201)
  await until(
    async () => held.size,
    (size) => size > 0,
  )
  const words = { model: 'sim/echo', messages: [{ role: 'user', content: 'hello' }], background: true }
  const { id } = (await alice.post('/inference/text', words)).body.data
  assert.equal((await ended(alice, id)).status, 'succeeded')
  assert.equal(most, 1)
  open = true
  for (const response of held) response.writeHead(201).end()
  const waiting = `select 1 from notification_deliveries where account_id = $1 and channel = 'push' and status = 'waiting'`
  await until(
    () => server.app.engine.postgres.pool.query(waiting, [bob.id]),
    ({ rowCount }) => rowCount === 0,
  )
})
