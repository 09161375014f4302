import type pg from 'pg'
import { type Caller, currentCaller } from './callers.ts'
import { SERVER, checkOut, isInTransaction } from './statement-limits.ts'
import type { Turns } from './turns.ts'

type Done = (error?: Error | boolean) => void
type ConnectCallback = (error: Error | undefined, client: pg.PoolClient | undefined, done: Done) => void

/**
 * A view of a pool that gives out connections in turns per account, separately for the server. `isServers`: all its
 * work counts as the server's.
 */
export function sharePool(
  pool: pg.Pool,
  turns: { accounts: Turns; server: Turns },
  { isServers }: { isServers: boolean },
): pg.Pool {
  const connectNow = (): Promise<pg.PoolClient> => pool.connect()

  async function connectAfterTurn(caller: Caller | null): Promise<pg.PoolClient> {
    const turn =
      caller === null
        ? turns.server.take({ name: SERVER, signal: null, isHolding: false, isBackground: true })
        : turns.accounts.take({
            name: caller.name,
            signal: caller.reads ? caller.signal : null,
            isHolding: isInTransaction(caller),
            isBackground: caller.signal === null,
          })
    const giveBack = turn instanceof Promise ? await turn : turn
    try {
      const client = await connectNow()
      const checkout = checkOut(client, caller)
      const release = client.release.bind(client)
      client.release = (error) => {
        const isReusable = checkout.isReusable()
        if (caller !== null) turns.accounts.noteRead(caller.name, checkout.bytes)
        giveBack()
        release(error || !isReusable)
      }
      return client
    } catch (error) {
      giveBack()
      throw error
    }
  }

  // A pool's `query` calls `connect` with a callback.
  const connect = (callback?: ConnectCallback): Promise<pg.PoolClient> | undefined => {
    const connection = connectAfterTurn(isServers ? null : currentCaller())
    if (callback === undefined) return connection
    connection.then(
      (client) => callback(undefined, client, client.release.bind(client)),
      (error: Error) => callback(error, undefined, () => {}),
    )
    return undefined
  }
  return Object.create(pool, { connect: { value: connect }, end: { value: () => pool.end() } }) as pg.Pool
}
