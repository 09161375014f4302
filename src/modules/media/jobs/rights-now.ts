import type { Context, Engine } from '#infra/context.ts'
import { scopes as allScopes } from '#core/scopes.ts'
import type { MediaJob } from './store.ts'

/**
 * The caller who asked for a job, with the rights that they have by now: a video takes minutes, and a member may leave.
 * Null: the account is gone.
 */
export const actingNow = <H>(
  engine: Engine<H>,
  job: Pick<MediaJob, 'account_id' | 'scopes' | 'held_to' | 'key_id'>,
  signal: AbortSignal,
): Promise<Context<H> | null> =>
  engine.actAs({
    accountId: job.account_id,
    scopes: job.scopes ?? allScopes,
    workspaceId: job.held_to,
    payingKeyId: job.key_id,
    signal,
  })
