import { type LookupFunction, type Socket, connect, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** The server that a connection leads to. */
export interface Destination {
  protocol: string
  /** The host to connect to; an IPv6 address has no brackets here. */
  hostname: string
  port: number
}

/** An open connection. What comes goes to `read`, in memory that is used again as soon as it returns. */
export interface Wire {
  socket: Socket
  read: ((bytes: Buffer) => void) | null
}

/** Opens one connection after the other to one place. */
export type Connector = (done: (error: Error | null, wire: Wire | null) => void) => void

/** The connection was not accepted, or the other side did not finish its handshake. */
export class ConnectTimeout extends Error {
  override name = 'ConnectTimeout'
  readonly code = 'UK_CONNECT_TIMEOUT'
}

/** The most that a read brings. */
const READ_BYTES = 65_536
const KEEP_ALIVE_MS = 60_000

// Reading is synchronous, so that all connections share one place to read into: memory for each read costs more than
// the reading.
const inbox = Buffer.allocUnsafeSlow(READ_BYTES)

/** Over TCP, or TLS with the session of the connection before. */
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
          // An address is not a name that a server could have a certificate by (RFC 6066, 3).
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
      // It may be the session that the other side will not have.
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
