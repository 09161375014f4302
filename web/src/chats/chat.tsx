import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { namesQuery, useAccount, workspacesQuery } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { plural, usd } from '../ui/text/format.ts'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Page, Tag } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'
import { PartView } from './part.tsx'
import { type Message, chatQuery, messagesQuery, runQuery } from './queries.ts'
import { RunLine } from './run-line.tsx'

/** The page that a notification about a run leads to: the conversation, to be read. */
export function ChatPage() {
  const { id } = useParams({ from: '/shell/chats/$id' })
  const { data: chat, error, refetch } = useQuery(chatQuery(id))
  const { data: workspaces } = useQuery(workspacesQuery)
  if (error && !chat)
    return (
      <Page title="Chat" lead="A conversation of yours, or one that is shared with you.">
        <Failure what="This chat" error={error} again={refetch} />
      </Page>
    )
  if (!chat)
    return (
      <Page title="Chat" lead="A conversation of yours, or one that is shared with you.">
        <Waiting what="the chat" />
      </Page>
    )
  const workspace = workspaces?.find((one) => one.id === chat.workspace_id)
  return (
    <Page
      title={chat.title}
      lead={
        <>
          {plural(chat.message_count, 'message')}
          {chat.last_message_at && (
            <>
              , the last <Ago time={chat.last_message_at} />
            </>
          )}
          {workspace ? ` · in ${workspace.name}` : workspaces && ' · shared with you'}
          {chat.status !== 'active' && (
            <>
              {' '}
              <Tag tone="warn">{chat.status}</Tag>
            </>
          )}
        </>
      }
    >
      <Messages id={id} workspaceId={workspace?.id} />
    </Page>
  )
}

function Messages({ id, workspaceId }: { id: string; workspaceId: string | undefined }) {
  const { data: run, error: noRun, refetch: runAgain } = useQuery(runQuery(id))
  const step = run === undefined ? undefined : `${run?.id} ${run?.status}`
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    messagesQuery(id, step),
  )
  // For those who share the workspace; who was given the chat alone reads it without names.
  const { data: names } = useQuery({ ...namesQuery(workspaceId ?? ''), enabled: workspaceId !== undefined })
  const messages = data?.pages.flatMap(({ rows }) => rows).toReversed()
  if (noRun && run === undefined) return <Failure what="The messages" error={noRun} again={runAgain} />
  if (error && !messages) return <Failure what="The messages" error={error} again={refetch} />
  if (!messages) return <Waiting what="the messages" />
  if (messages.length === 0) return <Empty title="No message yet">Nobody has said anything in this chat.</Empty>
  return (
    <>
      {hasNextPage && (
        <Button className="mb-4" pending={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show earlier messages
        </Button>
      )}
      <ol aria-label="Messages" className="divide-y divide-line border border-line border-t-keyline bg-sheet">
        {messages.map((message) => (
          <MessageRow key={message.id} message={message} names={names} />
        ))}
      </ol>
      {run && (
        <div className="mt-4 empty:hidden">
          <RunLine run={run} />
        </div>
      )}
    </>
  )
}

function MessageRow({ message, names }: { message: Message; names: ReadonlyMap<string, string> | undefined }) {
  const { id: me } = useAccount()
  const { role, status, model, created_at, created_by, cost_usd, content } = message
  const person = created_by === me ? 'You' : (names?.get(created_by ?? '') ?? 'Somebody else')
  const speaker = { user: person, assistant: model ?? 'Assistant', system: 'System', tool: 'Tool' }[role]
  return (
    <li className={`px-4 py-4 ${role === 'user' ? '' : 'border-l-[3px] border-l-ai/35'}`}>
      <p className="figures mb-1.5 flex flex-wrap items-baseline gap-x-3 text-[0.8125rem] text-quiet">
        <span className="text-sm font-medium break-all text-ink">{speaker}</span>
        <Ago time={created_at} />
        {cost_usd !== null && <span>{usd(cost_usd)}</span>}
        {status !== 'completed' && <Tag tone={status === 'failed' ? 'bad' : 'warn'}>{status.replace('_', ' ')}</Tag>}
      </p>
      <div className="space-y-2">
        {content.map((part, at) => (
          <PartView key={at} part={part} />
        ))}
      </div>
    </li>
  )
}
