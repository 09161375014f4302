import type { Driver, Probe } from './driver.ts'

export interface Cloud {
  hostId: string
  /** Waits for the probes, which start with the server. */
  probes(): Promise<{ driver: Driver; probe: Probe }[]>
  /** Returns the free bytes for computers. */
  room(): Promise<number>
  /** Null: unknown on this host or unavailable. */
  driver(name: string): Promise<Driver | null>
}
export interface HasCloud {
  cloud: Cloud
}
