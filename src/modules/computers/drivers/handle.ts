import type { Driver, Probe } from './driver.ts'

export interface Cloud {
  hostId: string
  /** Probes start with the server. */
  probes(): Promise<{ driver: Driver; probe: Probe }[]>
  /** In bytes. */
  room(): Promise<number>
  /** Null: unknown on this host or unavailable. */
  driver(name: string): Promise<Driver | null>
}
export interface HasCloud {
  cloud: Cloud
}
