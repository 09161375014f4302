import type { Readable, Writable } from 'node:stream'
import type { Id } from '#core/ids.ts'

export type Network = 'none' | 'internet'

export interface Box {
  id: Id
  /** Selects a unique account on the host. */
  number: bigint
  name: string
  image: string
  cpu: number | null
  memoryMb: number | null
  processes: number | null
  diskMb: number | null
  network: Network
}

export interface Probe {
  available: boolean
  reason: string | null
  images: string[]
  network: Network[]
  limitsEnforced: boolean
  /** Whether the kernel enforces disk limits. */
  diskLimitsEnforced: boolean
}

/** Creates computers isolated from the host. Every call is idempotent, for retries after a crash. */
export interface Driver {
  name: string
  /** Without isolation, the driver is unavailable: it never runs with less. */
  probe(): Promise<Probe>
  /** Creates an empty home and removes leftovers of earlier attempts. */
  create(box: Box): Promise<void>
  /** First ends anything of this computer still running. */
  start(box: Box, state: string): Promise<void>
  /** Resolves when no process is left. */
  stop(box: Pick<Box, 'id' | 'number'>): Promise<void>
  /** Returns computers with processes here, regardless of the database. */
  found(): Promise<Id[]>
  lives(box: Box): Promise<boolean>
  /** Takes over from another server process, which may have paused it. */
  adopt(box: Box): Promise<void>
  /** Null: the measurement took over a minute. */
  used(box: Box): Promise<number | null>
  lastWords(box: Box): Promise<string>
  /** Writes the home as `tar`, pausing a running computer. Returns the number of entries. */
  pack(box: Box, into: Writable): Promise<{ entries: number }>
  unpack(box: Box, from: Readable): Promise<void>
  destroy(box: Pick<Box, 'id' | 'number'>): Promise<void>
}

/** The message is shown to the owner. */
export class DriverFault extends Error {
  override name = 'DriverFault'
}
