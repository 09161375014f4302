import { EventEmitter } from 'node:events'
import type { Driver, DriverParts } from './drivers/driver.ts'
import { connectNats } from './drivers/nats.ts'
import { connectPostgres } from './drivers/postgres.ts'
import { connectRedis } from './drivers/redis.ts'
import type { Log } from '../log.ts'
import type { Postgres } from '../postgres/client.ts'
import { asServer } from '../postgres/fair/callers.ts'
import { instanceId } from '../processes/instance.ts'

/**
 * Messages between the processes of an instance; they may be lost. A poke carries no data and speeds up a poll, so
 * every reader must also poll. A message carries short-lived text. Durable data goes to the database instead.
 */
export interface Bus extends AsyncDisposable {
  poke(topic: string): void
  on(topic: string, wake: () => void): Disposable
  /** Sends text to a topic's listeners in every process, locally at once. Ordered per sender. */
  send(topic: string, words: string): void
  hear(topic: string, listen: (words: string) => void): Disposable
}

/** A message: sender (8 characters), type, topic, and the text after a line break. */
const POKE = '!'
const WORDS = '='

export async function connectBus(postgres: Postgres, log: Log, url: string | null = null): Promise<Bus> {
  const wakes = new EventEmitter().setMaxListeners(0)
  const words = new EventEmitter().setMaxListeners(0)
  const self = crypto.randomUUID().slice(0, 8)
  const pokes = new Set<string>()
  const messages: string[] = []
  let flushing: NodeJS.Immediate | null = null

  const driver = await openDriver(postgres, url, {
    name: `ukiyo.${await instanceId(postgres.db)}`,
    log,
    take(message) {
      const [from, kind] = [message.slice(0, 8), message[8]]
      if (from === self) return
      const end = message.indexOf('\n')
      if (kind === POKE) wakes.emit(message.slice(9))
      else if (kind === WORDS && end > 0) words.emit(message.slice(9, end), message.slice(end + 1))
    },
  })

  function later(): void {
    flushing ??= setImmediate(() => {
      flushing = null
      const all = [...[...pokes].map((topic) => `${self}${POKE}${topic}`), ...messages]
      pokes.clear()
      messages.length = 0
      void driver.publish(all)
    })
  }

  return {
    poke(topic) {
      // Listeners serve everyone, so they don't run on behalf of the caller.
      asServer(() => wakes.emit(topic))
      pokes.add(topic)
      later()
    },
    on(topic, wake) {
      wakes.on(topic, wake)
      return { [Symbol.dispose]: () => void wakes.off(topic, wake) }
    },
    send(topic, message) {
      asServer(() => words.emit(topic, message))
      messages.push(`${self}${WORDS}${topic}\n${message}`)
      later()
    },
    hear(topic, listen) {
      words.on(topic, listen)
      return { [Symbol.dispose]: () => void words.off(topic, listen) }
    },
    async [Symbol.asyncDispose]() {
      if (flushing) clearImmediate(flushing)
      await driver[Symbol.asyncDispose]()
    },
  }
}

function openDriver(postgres: Postgres, url: string | null, parts: DriverParts): Promise<Driver> {
  if (url === null) return connectPostgres(postgres, parts)
  return /^(nats|tls):/.test(url) ? connectNats(url, parts) : connectRedis(url, parts)
}
