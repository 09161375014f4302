import type { Context, Engine } from '#infra/context.ts'
import { scopes as allScopes } from '#core/scopes.ts'
import type { MediaJob } from './store.ts'

/**
 * Acts as the caller with their current permissions, because a video takes minutes and members may leave. Null: the
 * account was deleted.
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
