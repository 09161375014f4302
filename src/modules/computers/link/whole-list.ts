import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Input, Output } from '#daemon-protocol/operations.ts'
import type { Links } from './links.ts'

type Lists = 'terminal.list' | 'ports.list' | 'users.list'

const MAX_PARTS = 100

/** Requests all parts of a list that may exceed one message. */
export async function listAll<O extends Lists>(
  links: Links,
  computerId: Id,
  op: O,
  signal: AbortSignal,
): Promise<Output<O>[]> {
  const parts: Output<O>[] = []
  // The limit covers all parts together.
  const until = performance.now() + links.limits.answerMs
  for (let from = 0; parts.length < MAX_PARTS;) {
    const input: Input<Lists> = { from }
    // TypeScript can't infer it from the union.
    const part = await links.ask(computerId, op, input as Input<O>, {
      signal,
      withinMs: Math.max(1, until - performance.now()),
    })
    parts.push(part)
    if (part.next === null) return parts
    if (part.next <= from) break
    from = part.next
  }
  return refuse('upstream_error', { message: `The computer’s response to \`${op}\` is too long.` })
}
