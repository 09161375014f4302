import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { testDatabase } from '#test/database.ts'
import { needs } from '#test/needs.ts'
import { type BrokerKind, broker, hasBroker } from '#test/realtime/broker.ts'
import { wayTo } from '#test/outside/way.ts'
import { connectBus } from './bus.ts'
import { createLog } from '../log.ts'
import { connectPostgres } from '../postgres/client.ts'

for (const kind of ['nats', 'redis'] as const satisfies BrokerKind[])
  test(
    `messages flow again within 25 s after the connection to ${kind} goes silent`,
    { timeout: 60_000, ...needs(hasBroker(kind), `${kind}-server`) },
    async () => {
      await using database = await testDatabase()
      await using postgres = connectPostgres(database.connection, () => {})
      await using server = await broker(kind)
      using way = await wayTo(() => connect(Number(new URL(server.url).port), '127.0.0.1'))
      await using near = await connectBus(postgres, createLog('silent'), `${kind}://127.0.0.1:${way.port}`)
      await using far = await connectBus(postgres, createLog('silent'), server.url)
      const came = { near: 0, far: 0 }
      near.hear('words', (words) => void (words === 'from far' && came.near++))
      far.hear('words', (words) => void (words === 'from near' && came.far++))
      const both = async (): Promise<void> => {
        Object.assign(came, { near: 0, far: 0 })
        while (came.near === 0 || came.far === 0) {
          near.send('words', 'from near')
          far.send('words', 'from far')
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
      await both()
      way.swallow()
      const startedAt = performance.now()
      await both()
      const took = performance.now() - startedAt
      assert.ok(took > 1_000 && took < 25_000, `${took} ms`)
    },
  )
