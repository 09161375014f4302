import type { Driver, Probe } from './driver.ts'

/** Cloud computers as services know them. */
export interface Cloud {
  hostId: string
  /** The drivers and what each can do here; waits for the probes, which begin when the server starts. */
  probes(): Promise<{ driver: Driver; probe: Probe }[]>
  /** The bytes that this host's disk has for computers. */
  room(): Promise<number>
  /** The driver of this name; null: it is not one of this host, or not available. */
  driver(name: string): Promise<Driver | null>
}
export interface HasCloud {
  cloud: Cloud
}
