import type { Log } from '../../log.ts'

/** What takes words from process to process. A process may get its own back. */
export interface Driver extends AsyncDisposable {
  /** Never throws: what cannot be sent is lost. */
  publish(messages: readonly string[]): void | Promise<void>
}

/** What a driver is opened with. It rejects when it cannot be reached at the start, and comes back by itself later. */
export interface DriverParts {
  /** Of this instance's messages, where several instances share a driver. */
  name: string
  log: Log
  take: (message: string) => void
}
