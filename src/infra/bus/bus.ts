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
 * The server processes of one instance talk to each other here; a message may be lost. A poke carries no data and makes
 * a poll happen sooner, so every reader has a poll behind it. A message carries words that are worth nothing later.
 * Nothing that must last goes this way: that is written to the database, whatever carries the bus.
 */
export interface Bus extends AsyncDisposable {
  /** Wakes the readers of this topic in every process, this one at once. */
  poke(topic: string): void
  on(topic: string, wake: () => void): Disposable
  /** Says words to the listeners of this topic in every process, this one at once. In order per sender. */
  send(topic: string, words: string): void
  hear(topic: string, listen: (words: string) => void): Disposable
}

/** A message is who sent it (8 characters), what it is, its topic, and behind a line break its words. */
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

  /** Pokes and messages of one moment go in one round trip. */
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
      // The listeners work for everyone, and not as the caller who wakes them.
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
