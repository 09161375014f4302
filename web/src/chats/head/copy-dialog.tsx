import { useNavigate } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient, uk } from '../../api.ts'
import { workspacesQuery } from '../../session.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { say } from '../../ui/dialogs/toast.tsx'
import { SelectField } from '../../ui/field.tsx'
import { useSend } from '../../ui/send.ts'
import type { Chat } from '../queries.ts'
import { whenChosen } from '../thread/choices.ts'

/** The part of the chat that goes elsewhere: all of it, or the messages that lead to one. */
export type Copying = { how: 'copy' } | { how: 'fork'; messageId: string | null }

/** Copies a chat into a workspace, or forks it there, and goes to the new one. */
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
      say(copying.how === 'copy' ? 'Copied' : 'Forked')
      await navigate({ to: '/chats/$id', params: { id } })
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={copying.how === 'copy' ? 'Copy the chat' : 'Fork the chat'}
      about={
        copying.how === 'copy'
          ? 'With every branch. The copy is independent of this one.'
          : copying.messageId === null
            ? 'The active branch. The fork says where it comes from.'
            : 'What leads to this message, and the message itself. The fork says where it comes from.'
      }
      sending={sending}
      fields={['workspace_id']}
      verb={copying.how === 'copy' ? 'Copy' : 'Fork'}
      onSend={() => void sending.send(undefined)}
    >
      <SelectField
        label="Into the workspace"
        value={workspaceId}
        onValue={setChosen}
        options={theirs.map(({ id, name }) => [id, name] as const)}
        error={sending.at('workspace_id')}
      />
    </FormDialog>
  )
}
