import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#infra/context.ts'
import { endedOperations } from '#modules/operations/service.ts'
import type { Event } from '#core/answers.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { HasLinks } from '../link/links.ts'
import { narrate } from './narrate.ts'
import { type Command, type ExecPart, runExec } from './run-exec.ts'

const LOOK_MS = 100

/** Disconnecting doesn't affect the command. */
export async function* follow(
  ctx: Context<HasLinks>,
  computerId: Id,
  command: Command,
  base64: boolean,
): AsyncGenerator<Event> {
  const { key: id } = command
  for (;;) {
    // In this order: if the operation hasn't ended, the computer still knows the command.
    const [endedOperation] = await endedOperations(ctx.db, [id])
    const parts = runExec(ctx.engine.links, computerId, command, { signal: ctx.signal, joins: true })
    const first = await parts.next().catch((error: unknown) => ignoreNotStarted(error))
    if (first !== null) return yield* narrate(id, first, parts, base64)
    if (endedOperation !== undefined) {
      const error = endedOperation.error ?? {
        type: 'cancelled',
        message: 'The operation was canceled before the command started.',
      }
      return yield { event: 'exec.failed', data: { id, error } }
    }
    await sleep(LOOK_MS, undefined, { signal: ctx.signal })
  }
}

/** The operation tracks unstarted commands and offline computers. */
function ignoreNotStarted(error: unknown): IteratorResult<ExecPart, void> | null {
  if (error instanceof Refusal && ['not_found', 'computer_offline', 'unavailable'].includes(error.code)) return null
  throw error
}
