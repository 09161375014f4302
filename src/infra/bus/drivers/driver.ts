import type { Log } from '../../log.ts'

/** A driver takes words from process to process. A process may get its own back. */
export interface Driver extends AsyncDisposable {
  /** Never throws: what cannot be sent is lost. */
  publish(messages: readonly string[]): void | Promise<void>
}

/** The parts that a driver is opened with. It rejects when it cannot be reached at the start, and comes back by itself later. */
export interface DriverParts {
  /** The name that this instance's messages go by where several instances share a driver. */
  name: string
  log: Log
  take: (message: string) => void
}
