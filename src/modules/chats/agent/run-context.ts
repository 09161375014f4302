import { agentBehind } from '#modules/agents/service.ts'
import type { Engine } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import { scopes as allScopes } from '#core/scopes.ts'
import { messageStore } from '../messages/message-store.ts'
import { placeNow } from '../runs/acting.ts'
import { lineageOf } from '../runs/budgets.ts'
import type { Claim } from '../runs/transitions.ts'
import type { AgentHandles } from './tools/handles.ts'

export type RunContext = NonNullable<Claim['known']>

/** Reads the sender's rights, the messages and the budgets at the start of a run, which may have been queued for long. */
export async function loadContext(
  engine: Engine<AgentHandles>,
  { run }: Claim,
  signal: AbortSignal,
): Promise<RunContext> {
  const [ctx, said, lineage] = await Promise.all([
    engine.actAs({
      accountId: run.account_id,
      scopes: run.scopes ?? allScopes,
      workspaceId: run.held_to,
      payingKeyId: run.key_id,
      signal,
    }),
    messageStore.said(engine.postgres, run.input_message_id),
    lineageOf(engine.postgres, run.id),
  ])
  if (ctx === null)
    return refuse('not_found', { message: 'The account or API key that started this run no longer exists.' })
  await placeNow(ctx, run)
  const agent = run.agent_id === null ? null : await agentBehind(ctx, run.agent_id, run.workspace_id)
  if (run.agent_id !== null && agent === null) refuse('not_found', { message: 'The agent of this chat was deleted.' })
  // Read after the agent: a change of the agent and the pause are committed together.
  const automated = lineage.flatMap(({ automation_run_id }) => automation_run_id ?? [])
  if (automated.length > 0 && (await engine.isPausedByAgent(automated)))
    refuse('invalid_state', {
      message:
        'The automation was paused in the meantime: its agent was changed by someone with fewer permissions, or it was transferred to another account.',
      details: { status: 'paused', allowed: ['unarchive'] },
    })
  return { principal: ctx.principal, agent, said, lineage }
}
