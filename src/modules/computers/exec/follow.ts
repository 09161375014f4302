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

/** A command in the background as its caller follows it, from its first byte on. Leaving leaves it as it is. */
export async function* follow(
  ctx: Context<HasLinks>,
  computerId: Id,
  command: Command,
  base64: boolean,
): AsyncGenerator<Event> {
  const { key: id } = command
  for (;;) {
    // The operation is asked before the computer is: a command that began before its operation ended is still known
    // there.
    const [ended] = await endedOperations(ctx.db, [id])
    const parts = runExec(ctx.engine.links, computerId, command, { signal: ctx.signal, joins: true })
    const first = await parts.next().catch((error: unknown) => begunLater(error))
    if (first !== null) return yield* narrate(id, first, parts, base64)
    if (ended !== undefined) {
      const error = ended.error ?? {
        type: 'cancelled',
        message: 'The operation was canceled before the command started.',
      }
      return yield { event: 'exec.failed', data: { id, error } }
    }
    await sleep(LOOK_MS, undefined, { signal: ctx.signal })
  }
}

/** Passes over a command that has not begun yet, or whose computer is away: its operation knows what becomes of it. */
function begunLater(error: unknown): IteratorResult<ExecPart, void> | null {
  if (error instanceof Refusal && ['not_found', 'computer_offline', 'unavailable'].includes(error.code)) return null
  throw error
}
