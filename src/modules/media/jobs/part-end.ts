import { setTimeout as sleep } from 'node:timers/promises'
import type { Refusal } from '#core/errors.ts'
import type { Collected } from './collect.ts'

/** The end of one request to the vendor. */
export type PartEnd =
  | { end: 'delivered'; collected: Collected }
  /** No vendor took the job up: another provider may be asked. */
  | { end: 'elsewhere'; error: Refusal }
  /** `cost`: nothing, the units that were asked for, what was held, or what the vendor says. */
  | { end: 'failed'; error: Refusal; cost: 'nothing' | 'asked' | 'held' | { reportedUsd: number } }
  | { end: 'cancelled'; cost: 'nothing' | 'held' }

/** The job goes on elsewhere: this process ends, or another one is to have it. */
export class JobLeft extends Error {
  override name = 'JobLeft'
}

/** The signals and reports between a job and whoever drives it. */
export interface Driving {
  /** Fires when nobody wants the job any more. */
  cancelled: AbortSignal
  /** Fires when the job is to be left to another process: work that is begun at a vendor goes on there. */
  leaving: AbortSignal
  /** 0 to 1. */
  progress(fraction: number): void
}

/** Waits for so long, or until nobody waits for the job here. */
export async function wait(ms: number, { cancelled, leaving }: Driving): Promise<void> {
  const signal = AbortSignal.any([cancelled, leaving])
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {})
}
