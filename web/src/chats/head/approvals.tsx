import { useQuery } from '@tanstack/react-query'
import { queryClient, uk } from '../../shared/api.ts'
import { sayError } from '../../ui/calls/errors.ts'
import { type Action, Actions } from '../../ui/dialogs/menu.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { Icon } from '../../ui/icons.tsx'
import { approvalsQuery } from '../queries.ts'
import type { Chat } from '../../shared/conversation/queries.ts'

/** The tools allowed in this chat without asking, to be revoked individually. */
export function Approvals({ chat: { id, agent_id } }: { chat: Chat }) {
  const { data: approvals = [] } = useQuery(approvalsQuery(id, agent_id !== null))
  if (approvals.length === 0) return null
  const refresh = (): void => void queryClient.invalidateQueries({ queryKey: ['chats', id] })
  const actions = approvals.map(({ id: approval_id, tool }): Action => ({
    label: `Ask before ${tool}`,
    run: () =>
      void uk.chats
        .revoke_approval({ id, approval_id })
        .then(() => say(`${tool} needs approval again`))
        .catch((error: unknown) => say(sayError(error)))
        .finally(refresh),
  }))
  const count = approvals.length === 1 ? '1 tool' : `${approvals.length} tools`
  return <Actions label={`${count} allowed without approval`} actions={actions} trigger={<Icon name="shield" />} />
}
