import type { Driver, DriverParts } from './driver.ts'
import { StartRefused } from '../../start-refused.ts'

/**
 * Core NATS: delivery without guarantee, which the bus allows. One subject per instance.
 * https://docs.nats.io/nats-concepts/core-nats
 */
export async function connectNats(url: string, { name, log, take }: DriverParts): Promise<Driver> {
  // Loaded on demand: most servers don't use it.
  const { connect } = await import('@nats-io/transport-node')
  const { username, password, host } = new URL(url)
  const connection = await connect({
    servers: url.startsWith('tls:') ? `tls://${host}` : host,
    ...(username !== '' &&
      password !== '' && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(username !== '' && password === '' && { token: decodeURIComponent(username) }),
    name: 'ukiyo',
    maxReconnectAttempts: -1,
    reconnectTimeWait: 500,
    timeout: 5_000,
    // A dead server is detected after three unanswered pings.
    pingInterval: 5_000,
    maxPingOut: 2,
  }).catch((error: unknown) => {
    throw new StartRefused(`UK_BUS: NATS at ${host} can’t be reached`, { cause: error })
  })
  connection.subscribe(name, { callback: (_, message) => take(message.string()) })
  void tellOf(connection.status())

  async function tellOf(changes: AsyncIterable<{ type: string }>): Promise<void> {
    for await (const { type } of changes)
      if (type === 'disconnect' || type === 'reconnect') log.warn({ status: type }, 'the connection to NATS changed')
  }

  return {
    publish(messages) {
      // While disconnected, messages are dropped: late ones are useless.
      try {
        for (const message of messages) connection.publish(name, message)
      } catch (error) {
        log.debug({ error }, 'a message was not sent')
      }
    },
    [Symbol.asyncDispose]: () => connection.close(),
  }
}
