import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import pg from 'pg'

const CANCEL_MS = 5_000

/** Fields of pg's client and connection that its types omit. */
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
 * Cancels the connection's statement through a separate connection, which also works with a pooler. Resolves when the
 * database closes it: from then on, later statements aren't affected.
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
    // A host starting with a slash is a socket's folder.
    if (host.startsWith('/')) wire.connect(`${host}/.s.PGSQL.${port}`)
    else wire.connect(port, host)
  })
}
