import type { Context } from '#infra/context.ts'
import type { Bytes, Event } from '#core/answers.ts'
import type { ErrorBody } from '#core/errors.ts'
import { refuse } from '#core/errors.ts'
import { hasScope } from '#core/principal.ts'
import type { Scope } from '#core/scopes.ts'
import type { EndpointReply } from '#core/answers.ts'
import type { Line } from '../invoke.ts'
import { countedAs, limitOf } from '../admit.ts'
import type { Limits } from '../limit.ts'
import { deeperThan } from '../rest/read.ts'
import { envelope, refusedAnswer } from '../rest/reply.ts'

const DEEPEST = 64

export function callerFor({ line, limits, origin }: { line: Line; limits: Limits; origin: string }, ctx: Context) {
  return {
    requestId: ctx.requestId,
    origin,
    may: (scope: Scope | null): boolean => scope === null || hasScope(ctx.principal, scope),
    async call(name: string, input: unknown): Promise<EndpointReply> {
      if (deeperThan(input, DEEPEST))
        refuse('invalid_parameter', {
          param: 'input',
          message: `\`input\` can be nested up to ${DEEPEST} levels deep.`,
        })
      limits.take(countedAs(ctx.principal), limitOf(line.entries.get(name)?.endpoint))
      const ready = await line.admit(ctx, name, input)
      const result = await ready.entry.handle(ready.ctx, ready.input)
      const { reply } = ready.entry.endpoint
      switch (reply.kind) {
        case 'stream':
          return { kind: 'stream', events: result as AsyncIterable<Event>, ended: ctx.signal }
        case 'bytes':
          return { kind: 'bytes', bytes: result as Bytes }
        case 'none':
          return { kind: 'none' }
        default:
          return { kind: 'json', body: envelope(reply, result, ready.input) as Record<string, unknown> }
      }
    },
    refusal(error: unknown): ErrorBody {
      const { body, fault } = refusedAnswer(error)
      if (fault !== null && !ctx.signal.aborted)
        ctx.log.error({ error: fault, request_id: ctx.requestId }, 'a call of a tool failed')
      return body
    },
  }
}
