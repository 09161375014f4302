import { useNavigate } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, uk } from '../../shared/api.ts'
import { workspacesQuery } from '../../shared/session.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { SelectField } from '../../ui/field.tsx'
import { useSend } from '../../ui/calls/send.ts'
import type { Chat } from '../../shared/conversation/queries.ts'
import { whenChosen } from '../../shared/conversation/thread/choices.ts'

/** The copied part: the whole chat, or the messages up to one. */
export type Copying = { how: 'copy' } | { how: 'fork'; messageId: string | null }

export function CopyDialog({
  chat,
  copying,
  open,
  onOpen,
}: {
  chat: Chat
  copying: Copying
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const navigate = useNavigate()
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const theirs = workspaces.filter(({ status }) => status === 'active')
  const here = theirs.find(({ id }) => id === chat.workspace_id) ?? theirs[0]
  const [chosen, setChosen] = useState<string | null>(null)
  const workspaceId = chosen ?? here?.id ?? ''
  const sending = useSend(
    async () => {
      await whenChosen(chat.id)
      const to = { id: chat.id, workspace_id: workspaceId }
      if (copying.how === 'copy') return uk.chats.copy_to_workspace(to)
      return uk.chats.fork_to_workspace({
        ...to,
        ...(copying.messageId !== null && { message_id: copying.messageId }),
      })
    },
    async ({ id }) => {
      onOpen(false)
      void queryClient.invalidateQueries({ queryKey: ['chats'] })
      say(copying.how === 'copy' ? 'Chat copied' : 'Chat forked')
      await navigate({ to: '/chats/$id', params: { id } })
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={copying.how === 'copy' ? 'Copy chat' : 'Fork chat'}
      about={
        copying.how === 'copy'
          ? 'Copies all branches. The copy is independent of this chat.'
          : copying.messageId === null
            ? 'Copies the active branch. The fork links to this chat.'
            : 'Copies the messages up to this one. The fork links to this chat.'
      }
      sending={sending}
      fields={['workspace_id']}
      verb={copying.how === 'copy' ? 'Copy chat' : 'Fork chat'}
      onSend={() => void sending.send(undefined)}
    >
      <SelectField
        label="Workspace"
        value={workspaceId}
        onValue={setChosen}
        options={theirs.map(({ id, name }) => [id, name] as const)}
        error={sending.at('workspace_id')}
      />
    </FormDialog>
  )
}
