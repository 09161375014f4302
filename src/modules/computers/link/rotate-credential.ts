import type { Context } from '#infra/context.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { publishEvent } from '../events.ts'
import type { HasLinks } from './links.ts'
import { audit, change, touch } from '../manage.ts'
import { showComputer } from '../show.ts'
import { addCredential, dropCredential, retireOthers } from '../pairing/credentials.ts'

/** Until receipt is confirmed, both credentials are valid; another rotation expires the unused one. */
export async function rotateCredential(
  ctx: Context<HasLinks>,
  { id, overlap_seconds }: { id: Id; overlap_seconds: number },
) {
  const fresh = await change(ctx, id, 'admin', (ctx) => addCredential(ctx.db, id))
  const { credential } = fresh
  const { links } = ctx.engine
  using limit = links.limit(id, ctx.signal, links.limits.answerMs)
  const { signal } = limit
  try {
    await links.ask(id, 'daemon.rotate', { credential, overlap_seconds }, { signal, withinMs: Infinity })
  } catch (error) {
    // After a timeout or lost link, the machine may have received the credential.
    const isKnown = error instanceof Refusal && error.code !== 'interrupted' && !signal.aborted
    if (isKnown) await dropCredential(ctx.db, fresh.credentialId)
    throw limit.reasonFor(error)
  }
  const row = await change(ctx, id, 'admin', async (ctx) => {
    await retireOthers(ctx.db, fresh, overlap_seconds)
    const row = await touch(ctx, id)
    await publishEvent(ctx, 'credential_rotated', row)
    await audit(ctx, 'credential_rotated', row, { overlap_seconds })
    ctx.afterCommit(() => ctx.engine.bus.poke('computers'))
    return row
  })
  return showComputer(ctx.principal, row)
}
