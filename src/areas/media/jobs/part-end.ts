import { setTimeout as sleep } from 'node:timers/promises'
import type { Refusal } from '#kernel/errors.ts'
import type { Collected } from './collect.ts'

/** What became of one request to the vendor. */
export type PartEnd =
  | { end: 'delivered'; collected: Collected }
  /** Nobody took it up: another provider may be asked. */
  | { end: 'elsewhere'; error: Refusal }
  /** `cost`: nothing, the units that were asked for, what was held, or what the vendor says. */
  | { end: 'failed'; error: Refusal; cost: 'nothing' | 'asked' | 'held' | { reportedUsd: number } }
  | { end: 'cancelled'; cost: 'nothing' | 'held' }

/** The job goes on elsewhere: this process ends, or another one is to have it. */
export class JobLeft extends Error {
  override name = 'JobLeft'
}

/** Who drives a job hears by these. */
export interface Driving {
  /** Nobody wants it any more. */
  cancelled: AbortSignal
  /** It is to be left to another: what is begun at a vendor goes on there. */
  leaving: AbortSignal
  /** 0 to 1. */
  progress(fraction: number): void
}

/** Until then, or until nobody waits for it here. */
export async function wait(ms: number, { cancelled, leaving }: Driving): Promise<void> {
  const signal = AbortSignal.any([cancelled, leaving])
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {})
}
