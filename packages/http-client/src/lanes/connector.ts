import { type LookupFunction, type Socket, connect, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface Destination {
  protocol: string
  /** IPv6 addresses without brackets. */
  hostname: string
  port: number
}

/** An open connection. `read` receives data in memory that is reused after it returns. */
export interface Wire {
  socket: Socket
  read: ((bytes: Buffer) => void) | null
}

export type Connector = (done: (error: Error | null, wire: Wire | null) => void) => void

export class ConnectTimeout extends Error {
  override name = 'ConnectTimeout'
  readonly code = 'UK_CONNECT_TIMEOUT'
}

const READ_BYTES = 65_536
const KEEP_ALIVE_MS = 60_000

// Reads are synchronous, so connections share one buffer: allocating per read costs more than reading.
const inbox = Buffer.allocUnsafeSlow(READ_BYTES)

/** TCP or TLS, resuming the previous TLS session. */
export function createConnector(
  { protocol, hostname, port }: Destination,
  { timeoutMs, lookup }: { timeoutMs: number; lookup?: LookupFunction },
): Connector {
  const secure = protocol === 'https:'
  let session: Buffer | undefined

  return (done) => {
    const how = {
      host: hostname,
      port,
      ...(lookup !== undefined && { lookup }),
      onread: {
        buffer: inbox,
        callback(bytes: number): boolean {
          wire.read?.(inbox.subarray(0, bytes))
          return true
        },
      },
    }
    const socket = secure
      ? connectTls({
          ...how,
          // SNI doesn't allow addresses (RFC 6066, 3).
          ...(isIP(hostname) === 0 && { servername: hostname }),
          ALPNProtocols: ['http/1.1'],
          session,
        }).on('session', (latest) => void (session = latest))
      : connect(how)
    const wire: Wire = { socket, read: null }
    const timer = setTimeout(
      () => socket.destroy(new ConnectTimeout(`the connection to ${hostname}:${port} timed out`)),
      timeoutMs,
    )
    const onOpen = (): void => over(null)
    function over(error: Error | null): void {
      clearTimeout(timer)
      // The server may have rejected the session.
      if (error !== null) session = undefined
      socket.off('error', over).off(secure ? 'secureConnect' : 'connect', onOpen)
      done(error, error === null ? wire : null)
    }
    socket
      .setNoDelay(true)
      .setKeepAlive(true, KEEP_ALIVE_MS)
      .on('error', over)
      .on(secure ? 'secureConnect' : 'connect', onOpen)
  }
}
