import type { Redis } from 'ioredis'
import type { Driver, DriverParts } from './driver.ts'
import { StartRefused } from '../../start-refused.ts'

const ASK_MS = 5_000
const ANSWER_MS = 3_000

/**
 * Redis publish and subscribe: delivery without guarantee, which the bus allows.
 * https://redis.io/docs/latest/develop/pubsub/
 */
export async function connectRedis(url: string, { name, log, take }: DriverParts): Promise<Driver> {
  // Loaded on demand: most servers don't use it.
  const { Redis } = await import('ioredis')
  const options = {
    lazyConnect: true,
    connectTimeout: 5_000,
    commandTimeout: ANSWER_MS,
    // While disconnected, messages are dropped: late ones are useless.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt: number) => Math.min(2_000, attempt * 100),
  }
  // A subscribed connection can't publish.
  const speaks = new Redis(url, options)
  const listens = new Redis(url, options)
  for (const connection of [speaks, listens])
    connection.on('error', (error) => log.debug({ error }, 'the connection to Redis was lost'))
  try {
    await Promise.all([speaks.connect(), listens.connect()])
    await listens.subscribe(name)
  } catch (error) {
    speaks.disconnect()
    listens.disconnect()
    throw new StartRefused(`UK_BUS: Redis at ${new URL(url).host} can’t be reached`, { cause: error })
  }
  listens.on('message', (_, message) => take(message))
  const asking = setInterval(() => void Promise.all([speaks, listens].map(ask)), ASK_MS).unref()

  return {
    publish(messages) {
      const pipeline = speaks.pipeline()
      for (const message of messages) pipeline.publish(name, message)
      pipeline.exec().catch((error: unknown) => log.debug({ error }, 'a message was not sent'))
    },
    async [Symbol.asyncDispose]() {
      clearInterval(asking)
      speaks.disconnect()
      listens.disconnect()
    },
  }
}

async function ask(connection: Redis): Promise<void> {
  if (connection.status === 'ready') await connection.ping().catch(() => connection.disconnect(true))
}
