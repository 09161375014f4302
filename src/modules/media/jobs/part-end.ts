import { setTimeout as sleep } from 'node:timers/promises'
import type { Refusal } from '#core/errors.ts'
import type { CollectedMedia } from './collect.ts'

/** The outcome of one request to the vendor. */
export type PartEnd =
  | { end: 'delivered'; collected: CollectedMedia }
  /** Not accepted, so another provider may be tried. */
  | { end: 'elsewhere'; error: Refusal }
  /** `cost`: nothing, the requested units, the reservation, or the vendor's figure. */
  | { end: 'failed'; error: Refusal; cost: 'nothing' | 'asked' | 'held' | { reportedUsd: number } }
  | { end: 'cancelled'; cost: 'nothing' | 'held' }

/** Another process continues the job. */
export class JobLeft extends Error {
  override name = 'JobLeft'
}

export interface Driving {
  cancelled: AbortSignal
  /** Another process must continue the vendor's job. */
  leaving: AbortSignal
  /** 0 to 1. */
  progress(fraction: number): void
}

export async function wait(ms: number, { cancelled, leaving }: Driving): Promise<void> {
  const signal = AbortSignal.any([cancelled, leaving])
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {})
}
