import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { queryClient, uk } from '../shared/api.ts'
import { Button } from '../ui/button.tsx'
import { forgetDraft, useDraftWords } from '../ui/typing/draft.ts'
import { Field } from '../ui/field.tsx'
import { Paged } from '../ui/more.tsx'
import { Empty, Failure } from '../ui/notice.tsx'
import { Page, Rows, Section } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { useWorkspace } from '../shared/workspace.ts'
import { Composer } from './composer/composer.tsx'
import type { WrittenMessage } from '../shared/conversation/written.ts'
import { ModelPicker } from '../shared/models/model-picker.tsx'
import { keepFirst } from '../shared/conversation/first-message.ts'
import { chatsQuery, foundChatsQuery, pinnedQuery } from './queries.ts'
import type { Chat } from '../shared/conversation/queries.ts'
import { defaultModelQuery } from '../shared/models/queries.ts'
import { settingsQuery } from '../shared/session.ts'

export function ChatsPage() {
  const [words, setWords] = useState('')
  const [archived, setArchived] = useState(false)
  const [temporary, setTemporary] = useState(false)
  const deferredWords = useDeferredValue(words.trim())
  return (
    <Page title="Chats" lead="Conversations with models and agents. Responses continue when you leave the page.">
      <Begin />
      <Pinned />
      <Section title={temporary ? 'Temporary' : archived ? 'Archived' : 'Your chats'}>
        <div className="mb-4 flex flex-wrap items-end gap-4">
          <div className="min-w-0 flex-1 basis-64">
            <Field label="Search chats">
              {(control) => (
                <input
                  {...control}
                  type="search"
                  className="field"
                  value={words}
                  onChange={({ target }) => setWords(target.value)}
                />
              )}
            </Field>
          </div>
          <label className="flex h-9 items-center gap-2 text-sm">
            <input type="checkbox" checked={archived} onChange={({ target }) => setArchived(target.checked)} />
            Archived
          </label>
          <label className="flex h-9 items-center gap-2 text-sm">
            <input type="checkbox" checked={temporary} onChange={({ target }) => setTemporary(target.checked)} />
            Temporary
          </label>
        </div>
        {deferredWords === '' ? (
          <List status={archived ? 'archived' : 'active'} temporary={temporary} />
        ) : (
          <Found words={deferredWords} />
        )}
      </Section>
    </Page>
  )
}

function Begin() {
  const navigate = useNavigate()
  const { data: settings } = useQuery(settingsQuery)
  const [draft, setDraft] = useDraftWords('new chat')
  const [chosen, setChosen] = useState<string | null>(null)
  const [temporary, setTemporary] = useState(false)
  const model = chosen ?? settings?.default_model ?? null
  const workspace = useWorkspace()
  const { data: byServer } = useQuery(defaultModelQuery(settings && model === null ? (workspace?.id ?? null) : null))
  const { send, pending, rest } = useSend(async (written: WrittenMessage) => {
    const chat = await uk.chats.create({
      ...(workspace && { workspace_id: workspace.id }),
      ...(chosen !== null && { model: chosen }),
      temporary,
    })
    forgetDraft('new chat')
    keepFirst(chat.id, { ...written, model: null })
    void queryClient.invalidateQueries({ queryKey: ['chats'] })
    await navigate({ to: '/chats/$id', params: { id: chat.id } })
    return true
  })
  return (
    <Composer
      workspaceId={workspace?.id}
      temporary={temporary}
      draft={draft}
      onDraft={setDraft}
      onSend={async (written) => (await send(written)) === true}
      onStop={null}
      sending={pending}
      error={rest()}
      focusOn=""
      tools={
        <>
          <ModelPicker model={model} byServer={byServer ?? null} onModel={setChosen} />
          <Button
            look="quiet"
            icon="clock"
            aria-pressed={temporary}
            title="Visible only to you, not searchable, and deleted 24 hours after the last message"
            onClick={() => setTemporary(!temporary)}
          >
            Temporary
          </Button>
        </>
      }
      note={
        <>
          {temporary && (
            <p role="status" className="text-sm text-quiet">
              Temporary chats are visible only to you, not searchable, and deleted 24 hours after the last message.
            </p>
          )}
          {model === null && byServer === null ? (
            <p className="text-sm text-quiet">
              No model is available yet:{' '}
              <Link to="/ai-routing" className="link">
                add a provider
              </Link>
              .
            </p>
          ) : null}
        </>
      }
    />
  )
}

function List({ status, temporary }: { status: 'active' | 'archived'; temporary: boolean }) {
  const query = useInfiniteQuery(chatsQuery(status, temporary))
  return (
    <Paged
      query={query}
      what="your chats"
      label="Chats"
      none={
        temporary ? (
          <Empty title="No temporary chats">Temporary chats are deleted 24 hours after their last message.</Empty>
        ) : (
          <Empty title={status === 'archived' ? 'No archived chats' : 'No chats yet'}>
            Write a message above to start one.
          </Empty>
        )
      }
    >
      {(chat) => <Row chat={chat} />}
    </Paged>
  )
}

function Pinned() {
  const { data: pinned = [] } = useQuery(pinnedQuery)
  if (pinned.length === 0) return null
  return (
    <Section title="Pinned">
      <Rows label="Pinned">
        {pinned.map((chat) => (
          <li key={chat.id} className="px-4 py-3">
            <Row chat={chat} />
          </li>
        ))}
      </Rows>
    </Section>
  )
}

function Row({ chat: { id, title, model, last_message_at, created_at, active_run_id } }: { chat: Chat }) {
  return (
    <div className="flex items-baseline gap-3">
      <Link to="/chats/$id" params={{ id }} className="link min-w-0 flex-1 truncate">
        {title}
      </Link>
      {active_run_id !== null && <span className="text-sm text-ai">responding</span>}
      <span className="hidden max-w-48 truncate text-sm text-quiet sm:inline">{model}</span>
      <span className="text-sm whitespace-nowrap text-quiet">
        <Ago time={last_message_at ?? created_at} />
      </span>
    </div>
  )
}

function Found({ words }: { words: string }) {
  const { data, error, refetch } = useQuery({ ...foundChatsQuery(words), placeholderData: keepPreviousData })
  if (error) return <Failure what="The chats" error={error} again={refetch} />
  if (!data) return null
  if (data.length === 0) return <Empty title="No results">Try fewer or different words.</Empty>
  return (
    <Rows label="Results">
      {data.map(({ type, id, parent_id, title, snippet }) => (
        <li key={`${type} ${id}`} className="px-4 py-3">
          <Link to="/chats/$id" params={{ id: type === 'message' ? parent_id! : id }} className="link">
            {title}
          </Link>
          {snippet && <p className="mt-0.5 line-clamp-2 text-sm text-quiet">{snippet}</p>}
        </li>
      ))}
    </Rows>
  )
}
