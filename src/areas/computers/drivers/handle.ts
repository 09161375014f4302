import type { Driver, Probe } from './driver.ts'

/** Cloud computers as services know them. */
export interface Cloud {
  hostId: string
  /** What each driver can do here; waits for the probes, which begin when the server starts. */
  probes(): Promise<{ driver: Driver; probe: Probe }[]>
  /** What this host's disk has for computers, in bytes. */
  room(): Promise<number>
  /** Null: not one of this host, or not available. */
  driver(name: string): Promise<Driver | null>
}
export interface HasCloud {
  cloud: Cloud
}
