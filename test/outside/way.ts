import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import type pg from 'pg'

/** A way to a server that can be closed, and that can go dead without a word. */
export interface Way extends Disposable {
  port: number
  /** The number of times that somebody came along it. */
  attempts: number
  /** Whether who comes now is let through. */
  open: boolean
  /** Breaks what is connected. */
  cut(): void
  /** Connections stay, and nothing on them arrives any more, either way. */
  swallow(): void
}

/** The way to a database, and how one connects along it. What answers something arrives so much later as `lateMs` says. */
export async function wayToDatabase(
  connection: pg.PoolConfig,
  lateMs?: (asked: Buffer) => number,
): Promise<Way & { connection: pg.PoolConfig }> {
  const way = await wayTo(() => connect(`${connection.host}/.s.PGSQL.${connection.port}`), lateMs)
  return Object.assign(way, { connection: { ...connection, host: '127.0.0.1', port: way.port } })
}

export async function wayTo(reach: () => Socket, lateMs?: (asked: Buffer) => number): Promise<Way> {
  const pairs = new Set<[Socket, Socket]>()
  const server = createServer((inner) => {
    way.attempts += 1
    if (!way.open) return void inner.destroy()
    const outer = reach()
    for (const socket of [inner, outer]) socket.on('error', () => {})
    const pair: [Socket, Socket] = [inner, outer]
    pairs.add(pair)
    inner.once('close', () => {
      pairs.delete(pair)
      outer.destroy()
    })
    outer.once('close', () => inner.destroy())
    inner.pipe(outer)
    if (lateMs === undefined) return void outer.pipe(inner)
    let ms = 0
    inner.on('data', (asked: Buffer) => (ms = lateMs(asked)))
    outer.on('data', (answer: Buffer) => setTimeout(() => inner.write(answer), ms))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    for (const [inner, outer] of pairs) for (const socket of [inner, outer]) socket.destroy()
  }
  const way: Way = {
    port: (server.address() as AddressInfo).port,
    attempts: 0,
    open: true,
    cut,
    swallow() {
      for (const [inner, outer] of pairs) {
        inner.unpipe().resume()
        outer.unpipe().resume()
      }
    },
    [Symbol.dispose]() {
      server.close()
      cut()
    },
  }
  return way
}
