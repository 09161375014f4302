// Long test: runs in the merge check or by name.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { type SentEvent, readEvents } from '#test/events.ts'
import { needs } from '#test/needs.ts'
import { type BrokerKind, broker, hasBroker } from '#test/realtime/broker.ts'
import { killsUnderSubscribers } from '#test/realtime/rounds.ts'
import { type Caller, caller, testServer } from '#test/server.ts'

test('subscribers of killed servers resume elsewhere and receive every change once and in order', async () => {
  const { acknowledged, told, resumed } = await killsUnderSubscribers({ rounds: 2, readers: 4 })
  assert.ok(
    acknowledged > 20 && told >= 4 * acknowledged && resumed >= 2,
    `${acknowledged} made, ${told} told, ${resumed} resumed`,
  )
})

for (const kind of ['nats', 'redis'] as const satisfies BrokerKind[])
  test(
    `two processes communicate over ${kind}, and changes arrive even while it is down`,
    needs(hasBroker(kind), `${kind}-server`),
    async () => {
      await using bus = await broker(kind)
      await using near = await testServer({ environment: { UK_BUS: bus.url } })
      await using far = await near.twin()
      const alice = await near.person('Alice')
      const there: Caller = caller(far.origin, alice.headers)
      const channel = `custom:${alice.workspaceId}:room`
      const events = readEvents(there, `/realtime/subscribe?channels=${channel},user:${alice.id}`)
      const next = async (event: string): Promise<SentEvent> => {
        for (;;) {
          const { value } = await events.next()
          if (value!.event === event) return value!
        }
      }
      /** Older changes of the account can arrive first. */
      const skipTo = async (type: string): Promise<void> => {
        while ((await next('change')).data.type !== type);
      }
      await next('subscribed')
      const data = { words: 'ü\n'.repeat(5_000) }
      await alice.post(`/realtime/${channel}/broadcast`, { event: 'first', data })
      assert.deepEqual((await next('broadcast')).data.data, data)
      await alice.patch('/settings', { time_zone: 'Asia/Tokyo' })
      await skipTo('settings.updated')

      await bus.stop()
      await alice.patch('/settings', { time_zone: 'Europe/Berlin' })
      assert.equal((await next('change')).data.data.time_zone, 'Europe/Berlin')
      await bus.start()
      // Both reconnect automatically.
      const broadcasting = setInterval(
        () => void alice.post(`/realtime/${channel}/broadcast`, { event: 'second' }).catch(() => {}),
        200,
      )
      assert.equal((await next('broadcast')).data.event, 'second')
      clearInterval(broadcasting)
      await events.return()
    },
  )

test('a reader that stops reading is disconnected, and server memory stays bounded', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_WRITES: '0' } })
  const alice = await server.person('Alice')
  const channel = `custom:${alice.workspaceId}:flood`
  const { hostname, port } = new URL(server.origin)
  const socket = connect(Number(port), hostname)
  socket.write(
    `GET /v1/realtime/subscribe?channels=${channel} HTTP/1.1\r\nHost: ${hostname}\r\nCookie: ${alice.headers.cookie}\r\n\r\n`,
  )
  await once(socket, 'data')
  socket.pause()
  const data = 'x'.repeat(60_000)
  // Kernel buffers hold a few of the 24 megabytes.
  for (let i = 0; i < 400; i++) await alice.post(`/realtime/${channel}/broadcast`, { event: 'x', data })
  let receivedBytes = 0
  socket.on('data', (part: Buffer) => (receivedBytes += part.length))
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'close')
  assert.ok(receivedBytes < 400 * 60_000, `${receivedBytes} bytes`)
  socket.destroy()
})
