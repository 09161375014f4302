import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Rows } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'
import { type Chat, lastFilesQuery } from './queries.ts'

export function LastChats({ chats }: { chats: readonly Chat[] }) {
  if (chats.length === 0)
    return (
      <Empty title="No chats yet">
        <Link to="/chats" className="link">
          Start a chat
        </Link>{' '}
        with a model or an agent.
      </Empty>
    )
  return (
    <Rows label="Recent chats">
      {chats.map(({ id, title, last_message_at, created_at, active_run_id }) => (
        <li key={id} className="flex items-baseline gap-3 px-4 py-2">
          <Link to="/chats/$id" params={{ id }} className="link min-w-0 flex-1 truncate">
            {title}
          </Link>
          {active_run_id !== null && <span className="text-sm text-ai">responding</span>}
          <span className="text-[0.8125rem] whitespace-nowrap text-quiet">
            <Ago time={last_message_at ?? created_at} />
          </span>
        </li>
      ))}
    </Rows>
  )
}

export function LastFiles() {
  const { data: files, error, refetch } = useQuery(lastFilesQuery)
  if (error && !files) return <Failure what="Your files" error={error} again={refetch} />
  if (!files) return <Waiting what="your files" />
  if (files.length === 0)
    return <Empty title="No files yet">Files that you or your agents add to the drive appear here.</Empty>
  return (
    <Rows label="Recent files">
      {files.map(({ id, name, content_updated_at, updated_at }) => (
        <li key={id} className="flex items-baseline gap-3 px-4 py-2">
          <Link to="/drive/file/$id" params={{ id }} className="link min-w-0 flex-1 truncate">
            {name}
          </Link>
          <span className="text-[0.8125rem] whitespace-nowrap text-quiet">
            <Ago time={content_updated_at ?? updated_at} />
          </span>
        </li>
      ))}
    </Rows>
  )
}
