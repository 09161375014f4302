import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { uk } from '../../shared/api.ts'
import type { Chat } from '../../shared/conversation/queries.ts'
import type { Action } from '../../ui/dialogs/menu.tsx'
import type { ChatRights } from '../chat-rights.ts'
import { pinnedQuery } from '../queries.ts'
import type { Copying } from './copy-dialog.tsx'

export function useChatActions({
  chat: { id, status, temporary },
  isMember,
  rights,
  mayShare,
  change,
  open,
}: {
  chat: Chat
  isMember: boolean
  rights: ChatRights
  mayShare: boolean
  change: (call: Promise<unknown>, done: string) => void
  open: {
    find: () => void
    title: () => void
    goal: () => void
    cost: () => void
    share: () => void
    copy: (copying: Copying) => void
    deletion: () => void
  }
}): Action[] {
  const navigate = useNavigate()
  const { data: pinned } = useQuery(pinnedQuery)
  const isPinned = pinned?.some((one) => one.id === id) === true
  const isActive = status === 'active'
  const mayWrite = rights.write === true
  const restore = (): Promise<unknown> =>
    status === 'archived' ? uk.chats.unarchive({ id }) : uk.chats.restore({ id })
  const trash = async (): Promise<void> => {
    await uk.chats.trash({ id })
    await navigate({ to: '/chats' })
  }
  const exported = (format: 'markdown' | 'json' | 'html'): void =>
    location.assign(`/v1/chats/${id}/export?format=${format}`)
  const pin: Action = isPinned
    ? { label: 'Unpin', run: () => change(uk.chats.unpin({ id }), 'Unpinned') }
    : { label: 'Pin', run: () => change(uk.chats.pin({ id }), 'Pinned') }
  return [
    { label: 'Find in this chat', run: open.find },
    ...(isMember && !temporary ? [pin] : []),
    ...(mayWrite ? [{ label: 'Rename', run: open.title }] : []),
    ...(mayWrite && isActive ? [{ label: 'Set goal', run: open.goal }] : []),
    { label: 'View cost', run: open.cost },
    ...(mayShare && isActive && !temporary ? [{ label: 'Share', run: open.share }] : []),
    { label: 'Fork', run: () => open.copy({ how: 'fork', messageId: null }) },
    { label: 'Copy to a workspace', run: () => open.copy({ how: 'copy' }) },
    { label: 'Export as Markdown', run: () => exported('markdown') },
    { label: 'Export as JSON', run: () => exported('json') },
    { label: 'Export as HTML', run: () => exported('html') },
    ...(rights.keep
      ? [
          isActive
            ? { label: 'Archive', run: () => change(uk.chats.archive({ id }), 'Archived') }
            : { label: 'Restore', run: () => change(restore(), 'Restored') },
          temporary
            ? { label: 'Delete permanently', danger: true, run: open.deletion }
            : { label: 'Move to trash', danger: true, run: () => change(trash(), 'Moved to trash') },
        ]
      : []),
  ]
}
