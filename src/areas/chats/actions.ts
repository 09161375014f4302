import type { Context } from '#engine/context.ts'
import { refuse } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { allowedFor, holdActive } from './accept.ts'
import type { Fact } from './answer.ts'
import { messageStore } from './message-store.ts'
import { type RunRow, eventStore, runStore } from './run-store.ts'
import { runsOf } from './runs.ts'
import { bounded, openCalls } from './toolset.ts'
import { claimNext, numbered } from './transitions.ts'

export interface Decision {
  id: string
  decision: 'allow' | 'deny'
  /** The result to take for the call: it is not carried out. */
  output?: unknown
}

/** Decides calls that a run waits with; once none is left it goes on. */
export async function decide(outer: Context, chatId: Id, runId: Id, decisions: readonly Decision[]): Promise<RunRow> {
  const { engine } = outer
  const runs = runsOf(engine)
  return outer.transaction(async (ctx) => {
    await holdActive(ctx, chatId)
    const run =
      (await runStore.get(ctx.db, chatId, runId)) ??
      refuse('not_found', { param: 'run_id', message: 'There is no such run in this chat.' })
    if (run.status !== 'requires_action')
      return refuse('invalid_state', {
        message: `The run waits for no decision: it is ${run.status}.`,
        details: { status: run.status, allowed: allowedFor(run) },
      })
    const message = (await messageStore.get(ctx.db, chatId, run.output_message_id)) ?? refuse('not_found')
    const open = openCalls(message.content)
    const waiting = new Map(run.pending_actions.map((action) => [action.id, action]))
    const approved: number[] = [...((run.options as { approved?: number[] }).approved ?? [])]
    const facts: Fact[] = []
    const content = [...message.content]
    for (const [i, { id, decision, output }] of decisions.entries()) {
      const call = open.find(({ call }) => call.id === id)
      if (!waiting.delete(id) || !call)
        refuse('not_found', { param: `actions.${i}.id`, message: 'The run does not wait for this action.' })
      if (decision === 'allow' && output === undefined) {
        approved.push(call.index)
        continue
      }
      const result = bounded({
        output: output ?? { error: { message: 'A person denied this call.' } },
        is_error: decision === 'deny',
      })
      content.push({ type: 'tool_result', tool_call_id: id, ...result })
      facts.push({ type: 'tool_result', data: { tool_call_id: id, ...result } })
    }
    const { seq } = await eventStore.last(ctx.db, runId)
    await eventStore.insert(ctx.db, runId, numbered(facts, seq))
    await messageStore.keep(ctx.db, message.id, { content })
    const decided = await runStore.decide(ctx.db, runId, { pending: [...waiting.values()], approved })
    if (waiting.size > 0 || runs.draining) return decided
    const claimed = await claimNext(ctx.db, chatId, engine.processId)
    if (claimed) ctx.afterCommit(() => runs.begin(claimed))
    return claimed?.run ?? decided
  })
}
