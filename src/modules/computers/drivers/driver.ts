import type { Readable, Writable } from 'node:stream'
import type { Id } from '#core/ids.ts'

export type Network = 'none' | 'internet'

/** A cloud computer as its driver needs to know it. */
export interface Box {
  id: Id
  /** The number that tells its account on the host from all others. */
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
  /** Why the driver is not available, and how to mend it; or what it can't do here. Null: nothing to say. */
  reason: string | null
  images: string[]
  network: Network[]
  limitsEnforced: boolean
  /** Whether the kernel refuses what goes beyond the limit of the disk. */
  diskLimitsEnforced: boolean
}

/** A way to make computers that are isolated from the host. All of it may be asked for again after a crash. */
export interface Driver {
  name: string
  /** Tries what the driver needs, once. Where isolation can't be had it is not available: it never runs with less. */
  probe(): Promise<Probe>
  /** Makes the home of a computer, empty. Leftovers of an earlier attempt go. */
  create(box: Box): Promise<void>
  /**
   * Starts the computer's daemon, which finds `state` in its folder. Whatever of the same computer still runs is ended
   * first.
   */
  start(box: Box, state: string): Promise<void>
  /** Resolves once no process of the computer is left. */
  stop(box: Pick<Box, 'id' | 'number'>): Promise<void>
  /** The computers of which something runs here, whatever the books say. */
  found(): Promise<Id[]>
  lives(box: Box): Promise<boolean>
  /** Takes over a computer that another process of the server started, and may have held still. */
  adopt(box: Box): Promise<void>
  /** The bytes that a computer keeps on the disk; null: they could not be measured in a minute. */
  used(box: Box): Promise<number | null>
  /** The last words of a computer, for people. */
  lastWords(box: Box): Promise<string>
  /** Writes a home as `tar`; a computer that runs is held still meanwhile. Answers how many entries its home has. */
  pack(box: Box, into: Writable): Promise<{ entries: number }>
  /** Fills a home with what was packed. */
  unpack(box: Box, from: Readable): Promise<void>
  /** Ends a computer and removes its home. */
  destroy(box: Pick<Box, 'id' | 'number'>): Promise<void>
}

/** Why a computer can't be made or started, in words for its owner. */
export class DriverFault extends Error {
  override name = 'DriverFault'
}
