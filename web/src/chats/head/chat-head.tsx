import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Suspense, lazy, useEffect, useState } from 'react'
import { queryClient, uk } from '../../shared/api.ts'
import { refusal, sayError } from '../../ui/calls/errors.ts'
import { usePlace } from '../../shared/rights.ts'
import { type Action, Actions } from '../../ui/dialogs/menu.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { say } from '../../ui/dialogs/toast.tsx'
import { Tag } from '../../ui/page.tsx'
import { usd } from '../../ui/text/format.ts'
import type { ChatRights } from '../chat-rights.ts'
import { pinnedQuery } from '../queries.ts'
import type { Chat } from '../../shared/conversation/queries.ts'
import { Approvals } from './approvals.tsx'
import type { Copying } from './copy-dialog.tsx'

// Lazy: loaded when first opened.
const GoalDialog = lazy(async () => ({ default: (await import('../goal/goal-dialog.tsx')).GoalDialog }))
const CopyDialog = lazy(async () => ({ default: (await import('./copy-dialog.tsx')).CopyDialog }))
const ShareDialog = lazy(async () => ({ default: (await import('../../shared/share-dialog.tsx')).ShareDialog }))
const CostDialog = lazy(async () => ({ default: (await import('./cost-dialog.tsx')).CostDialog }))

export function ChatHead({
  chat,
  workspace,
  rights,
  onChange,
  onFind,
}: {
  chat: Chat
  workspace: string | null
  rights: ChatRights
  onChange: () => void
  onFind: () => void
}) {
  const { id, title, spent_usd, status, temporary } = chat
  const navigate = useNavigate()
  const [typed, setTyped] = useState<string | null>(null)
  const { data: pinned } = useQuery(pinnedQuery)
  const isPinned = pinned?.some((one) => one.id === id) === true
  const copying = useOpen<Copying>()
  const cost = useOpen<true>()
  const goal = useOpen<true>()
  const share = useOpen<true>()
  const deleting = useOpen<true>()
  const place = usePlace(chat.workspace_id)
  const writes = rights.write === true
  useEffect(() => {
    document.title = `${title} · Ukiyo`
  }, [title])
  const change = (call: Promise<unknown>, done: string): void =>
    void call.then(
      () => {
        say(done)
        onChange()
        void queryClient.invalidateQueries({ queryKey: ['chats'] })
      },
      (error: unknown) => say(sayError(error)),
    )
  const rename = (): void => {
    const words = typed?.trim()
    setTyped(null)
    if (words && words !== title) change(uk.chats.update({ id, title: words }), 'Renamed')
  }
  const deleteNow = async (): Promise<void> => {
    await deleteForGood(id)
    void queryClient.invalidateQueries({ queryKey: ['chats'] })
    await navigate({ to: '/chats' })
    say('Chat deleted')
  }
  const exported = (format: 'markdown' | 'json' | 'html'): void =>
    location.assign(`/v1/chats/${id}/export?format=${format}`)
  const back: Action = {
    label: 'Restore',
    run: () => change(status === 'archived' ? uk.chats.unarchive({ id }) : uk.chats.restore({ id }), 'Restored'),
  }
  const actions: Action[] = [
    { label: 'Find in this chat', run: onFind },
    ...(workspace === null || temporary
      ? []
      : [
          isPinned
            ? { label: 'Unpin', run: () => change(uk.chats.unpin({ id }), 'Unpinned') }
            : { label: 'Pin', run: () => change(uk.chats.pin({ id }), 'Pinned') },
        ]),
    ...(writes ? [{ label: 'Rename', run: () => setTyped(title) }] : []),
    ...(writes && status === 'active' ? [{ label: 'Set goal', run: () => goal.show(true) }] : []),
    { label: 'View cost', run: () => cost.show(true) },
    ...(place.may('share:write') && status === 'active' && !temporary
      ? [{ label: 'Share', run: () => share.show(true) }]
      : []),
    { label: 'Fork', run: () => copying.show({ how: 'fork', messageId: null }) },
    { label: 'Copy to a workspace', run: () => copying.show({ how: 'copy' }) },
    { label: 'Export as Markdown', run: () => exported('markdown') },
    { label: 'Export as JSON', run: () => exported('json') },
    { label: 'Export as HTML', run: () => exported('html') },
    ...(rights.keep
      ? [
          status === 'active' ? { label: 'Archive', run: () => change(uk.chats.archive({ id }), 'Archived') } : back,
          {
            label: temporary ? 'Delete permanently' : 'Move to trash',
            danger: true,
            run: () =>
              temporary
                ? deleting.show(true)
                : change(
                    uk.chats.trash({ id }).then(() => navigate({ to: '/chats' })),
                    'Moved to trash',
                  ),
          },
        ]
      : []),
  ]
  return (
    <header className="flex min-h-14 items-center gap-3 border-b border-line px-4 py-2 sm:px-6">
      <h1 className="min-w-0 flex-1 font-serif text-lg leading-tight">
        {!writes ? (
          <span className="block truncate">{title}</span>
        ) : typed === null ? (
          <button
            type="button"
            title="Rename chat"
            className="block max-w-full truncate text-left"
            onClick={() => setTyped(title)}
          >
            {title}
          </button>
        ) : (
          <input
            autoFocus
            aria-label="Title"
            value={typed}
            maxLength={200}
            onChange={({ target }) => setTyped(target.value)}
            onBlur={rename}
            onKeyDown={({ key }) => {
              if (key === 'Enter') rename()
              if (key === 'Escape') setTyped(null)
            }}
            className="field"
          />
        )}
      </h1>
      <p className="figures flex items-baseline gap-3 text-[0.8125rem] text-quiet">
        <span className="hidden sm:inline">{workspace ?? 'shared with you'}</span>
        {spent_usd > 0 && (
          <button
            type="button"
            title="View cost"
            className="underline decoration-line underline-offset-4 hover:text-ink"
            onClick={() => cost.show(true)}
          >
            {usd(spent_usd)}
          </button>
        )}
        {status !== 'active' && <Tag tone="warn">{status}</Tag>}
      </p>
      <Approvals chat={chat} />
      <Actions label="More actions for this chat" actions={actions} />
      <Confirm
        title="Delete chat permanently?"
        verb="Delete permanently"
        run={deleteNow}
        open={deleting.open}
        onOpen={deleting.onOpen}
      >
        <p>This permanently deletes the chat and all its messages. You can’t undo this.</p>
      </Confirm>
      <Suspense>
        {share.on && (
          <ShareDialog
            type="chat"
            id={id}
            name={title}
            mayEdit={place.may('chat:write')}
            open={share.open}
            onOpen={share.onOpen}
          />
        )}
        {cost.on && <CostDialog chatId={id} open={cost.open} onOpen={cost.onOpen} />}
        {copying.on && <CopyDialog chat={chat} copying={copying.on} open={copying.open} onOpen={copying.onOpen} />}
        {goal.on && (
          <GoalDialog
            chatId={id}
            goal={null}
            open={goal.open}
            onOpen={goal.onOpen}
            onChange={() => {
              void queryClient.invalidateQueries({ queryKey: ['goal', id] })
              onChange()
            }}
          />
        )}
      </Suspense>
    </header>
  )
}

/**
 * Deletes a chat in two steps, which are retried as one: the first has no effect on a chat that is already in the
 * trash.
 */
async function deleteForGood(id: string): Promise<void> {
  try {
    await uk.chats.trash({ id })
    await uk.chats.permanent_delete({ id })
  } catch (error) {
    // The response to an earlier attempt was lost.
    if (refusal(error)?.status !== 404) throw error
  }
}
