import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import pg from 'pg'

/** A cancel request that gets no answer for so long is given up. */
const CANCEL_MS = 5_000

/** The members of pg's client and connection that its types leave out. */
interface Inside {
  host: string
  port: number
  processID: number | null
  secretKey: number | null
  ssl: boolean | object
  sslNegotiation: string
}
interface Wire extends EventEmitter {
  connect(port: number | string, host?: string): void
  cancel(processId: number, secretKey: number): void
  stream: Socket
}
const { Connection } = pg as unknown as { Connection: new (options: object) => Wire }

/**
 * Asks the database to stop what this connection is doing, on a connection of its own, which also works through a pooler.
 * Resolves once the database has closed it: from then on the request reaches no later statement.
 */
export function cancelStatement(client: pg.ClientBase): Promise<void> {
  const { host, port, processID, secretKey, ssl, sslNegotiation } = client as unknown as Inside
  if (processID === null || secretKey === null) return Promise.resolve()
  return new Promise((resolve) => {
    const wire = new Connection({ ssl, sslNegotiation })
    const end = (): void => {
      clearTimeout(timer)
      wire.stream.destroy()
      resolve()
    }
    const timer = setTimeout(end, CANCEL_MS)
    wire.on('error', end).on('end', end)
    wire.on(ssl ? 'sslconnect' : 'connect', () => wire.cancel(processID, secretKey))
    // A host that begins with a slash is the folder of a socket.
    if (host.startsWith('/')) wire.connect(`${host}/.s.PGSQL.${port}`)
    else wire.connect(port, host)
  })
}
