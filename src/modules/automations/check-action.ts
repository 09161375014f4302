/** An action runs later for the caller who sets it, so permissions are checked when it's set. */
import { agentFor } from '#modules/agents/service.ts'
import { chatFor } from '#modules/chats/service.ts'
import { checkCommand } from '#modules/computers/service.ts'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { checkPlace } from '#authz/place.ts'
import { hasScope } from '#core/principal.ts'
import type { Action } from './store.ts'

export async function checkAction(ctx: Context, action: Action, workspaceId: Id): Promise<void> {
  if (action.type === 'command') return void (await checkCommand(ctx, action.computer_id, 'action.computer_id'))
  for (const scope of ['chat:write', 'chat:run', 'agent:read'] as const) {
    if (!hasScope(ctx.principal, scope))
      refuse('missing_scope', {
        message: `The key is missing the scope \`${scope}\`.`,
        details: { required_scope: scope },
      })
    checkPlace(ctx.workspace!.membership, scope)
  }
  await agentFor(ctx, action.agent_id, 'action.agent_id')
  if (action.chat_id === null) return
  const chat = await chatFor(ctx, action.chat_id, 'action.chat_id')
  if (chat.workspace_id !== workspaceId)
    refuse('invalid_parameter', { param: 'action.chat_id', message: 'The chat is in another workspace.' })
}
