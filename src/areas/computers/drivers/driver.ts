import type { Readable, Writable } from 'node:stream'
import type { Id } from '#kernel/ids.ts'

export type Network = 'none' | 'internet'

/** A cloud computer as its driver needs to know it. */
export interface Box {
  id: Id
  /** Tells its account on the host from all others. */
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
  /** Why not, and how to mend it; or what it can't do here. Null: nothing to say. */
  reason: string | null
  images: string[]
  network: Network[]
  limitsEnforced: boolean
  /** The kernel refuses what goes beyond the limit of the disk. */
  diskLimitsEnforced: boolean
}

/** A way to make computers that are isolated from the host. All of it may be asked for again after a crash. */
export interface Driver {
  name: string
  /** Tries what it needs, once. Where isolation can't be had it is not available: it never runs with less. */
  probe(): Promise<Probe>
  /** Makes the home of one; empty. What an attempt before left of it goes. */
  create(box: Box): Promise<void>
  /** Starts its daemon, which finds `state` in its folder. Whatever of the same computer still runs is ended first. */
  start(box: Box, state: string): Promise<void>
  /** Resolves once no process of it is left. */
  stop(box: Pick<Box, 'id' | 'number'>): Promise<void>
  /** Computers of which something runs here, whatever the books say. */
  found(): Promise<Id[]>
  lives(box: Box): Promise<boolean>
  /** Another process of the server started it, and may have held it still. */
  adopt(box: Box): Promise<void>
  /** What it keeps on the disk, in bytes; null: that could not be measured in a minute. */
  used(box: Box): Promise<number | null>
  /** Its last words, for people. */
  lastWords(box: Box): Promise<string>
  /** Writes its home as `tar`; a computer that runs is held still meanwhile. Answers how many entries its home has. */
  pack(box: Box, into: Writable): Promise<{ entries: number }>
  /** Fills its home with what was packed. */
  unpack(box: Box, from: Readable): Promise<void>
  /** Ends it and removes its home. */
  destroy(box: Pick<Box, 'id' | 'number'>): Promise<void>
}

/** Why a computer can't be made or started, in words for its owner. */
export class DriverFault extends Error {
  override name = 'DriverFault'
}
