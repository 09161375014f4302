import type { Log } from '../../log.ts'

/** Transports messages between processes. A process may receive its own. */
export interface Driver extends AsyncDisposable {
  /** Never throws: unsent messages are lost. */
  publish(messages: readonly string[]): void | Promise<void>
}

/** Opening rejects if the server is unreachable; later it reconnects automatically. */
export interface DriverParts {
  name: string
  log: Log
  take: (message: string) => void
}
