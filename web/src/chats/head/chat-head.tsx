import { useNavigate } from '@tanstack/react-router'
import { Suspense, lazy, useEffect, useState } from 'react'
import { queryClient, uk } from '../../shared/api.ts'
import { refusal, sayError } from '../../ui/calls/errors.ts'
import { usePlace } from '../../shared/rights.ts'
import { Actions } from '../../ui/dialogs/menu.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { Tag } from '../../ui/page.tsx'
import { usd } from '../../ui/text/format.ts'
import type { ChatRights } from '../chat-rights.ts'
import type { Chat } from '../../shared/conversation/queries.ts'
import { Approvals } from './approvals.tsx'
import { useChatActions } from './use-chat-actions.ts'
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
  const { id, title, spent_usd, status } = chat
  const [typed, setTyped] = useState<string | null>(null)
  const copying = useOpen<Copying>()
  const cost = useOpen<true>()
  const goal = useOpen<true>()
  const share = useOpen<true>()
  const deleting = useOpen<true>()
  const place = usePlace(chat.workspace_id)
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
  const actions = useChatActions({
    chat,
    isMember: workspace !== null,
    rights,
    mayShare: place.may('share:write'),
    change,
    open: {
      find: onFind,
      title: () => setTyped(title),
      goal: () => goal.show(true),
      cost: () => cost.show(true),
      share: () => share.show(true),
      copy: copying.show,
      deletion: () => deleting.show(true),
    },
  })
  return (
    <header className="flex min-h-14 items-center gap-3 border-b border-line px-4 py-2 sm:px-6">
      <Title
        title={title}
        typed={typed}
        onTyped={rights.write === true ? setTyped : null}
        onRename={(words) => change(uk.chats.update({ id, title: words }), 'Renamed')}
      />
      <p className="figures flex items-baseline gap-3 text-[0.8125rem] text-quiet">
        <span className="hidden sm:inline">{workspace ?? 'shared with you'}</span>
        {spent_usd > 0 && <Spending amount={spent_usd} onShow={() => cost.show(true)} />}
        {status !== 'active' && <Tag tone="warn">{status}</Tag>}
      </p>
      <Approvals chat={chat} />
      <Actions label="More actions for this chat" actions={actions} />
      <DeleteChat id={id} open={deleting.open} onOpen={deleting.onOpen} />
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

function Title({
  title,
  typed,
  onTyped,
  onRename,
}: {
  title: string
  typed: string | null
  /** Null: the person can't rename the chat. */
  onTyped: ((typed: string | null) => void) | null
  onRename: (title: string) => void
}) {
  const rename = (): void => {
    const words = typed?.trim()
    onTyped?.(null)
    if (words && words !== title) onRename(words)
  }
  return (
    <h1 className="min-w-0 flex-1 font-serif text-lg leading-tight">
      {onTyped === null ? (
        <span className="block truncate">{title}</span>
      ) : typed === null ? (
        <button
          type="button"
          title="Rename chat"
          className="block max-w-full truncate text-left"
          onClick={() => onTyped(title)}
        >
          {title}
        </button>
      ) : (
        <input
          autoFocus
          aria-label="Title"
          value={typed}
          maxLength={200}
          onChange={({ target }) => onTyped(target.value)}
          onBlur={rename}
          onKeyDown={({ key }) => {
            if (key === 'Enter') rename()
            if (key === 'Escape') onTyped(null)
          }}
          className="field"
        />
      )}
    </h1>
  )
}

const Spending = ({ amount, onShow }: { amount: number; onShow: () => void }) => (
  <button
    type="button"
    title="View cost"
    className="underline decoration-line underline-offset-4 hover:text-ink"
    onClick={onShow}
  >
    {usd(amount)}
  </button>
)

function DeleteChat({ id, open, onOpen }: { id: string; open: boolean; onOpen: (open: boolean) => void }) {
  const navigate = useNavigate()
  return (
    <Confirm
      title="Delete chat permanently?"
      verb="Delete permanently"
      run={async () => {
        await deletePermanently(id)
        void queryClient.invalidateQueries({ queryKey: ['chats'] })
        await navigate({ to: '/chats' })
        say('Chat deleted')
      }}
      open={open}
      onOpen={onOpen}
    >
      <p>This permanently deletes the chat and all its messages. You can’t undo this.</p>
    </Confirm>
  )
}

/**
 * Deletes a chat in two steps, which are retried as one: the first has no effect on a chat that is already in the
 * trash.
 */
async function deletePermanently(id: string): Promise<void> {
  try {
    await uk.chats.trash({ id })
    await uk.chats.permanent_delete({ id })
  } catch (error) {
    // The response to an earlier attempt was lost.
    if (refusal(error)?.status !== 404) throw error
  }
}
