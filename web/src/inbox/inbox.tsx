import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient, uk } from '../shared/api.ts'
import { PathLink } from '../shared/path-link.tsx'
import { Button } from '../ui/button.tsx'
import { Actions } from '../ui/dialogs/menu.tsx'
import { Paged } from '../ui/more.tsx'
import { Empty, Refused } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { pageOf } from './page-of.ts'
import { type Notification, inboxQuery } from './queries.ts'
import { unreadQuery } from '../shared/inbox/queries.ts'

const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['inbox'] })

export function Inbox() {
  const [only, setOnly] = useState<'all' | 'unread'>('all')
  const query = useInfiniteQuery(inboxQuery(only))
  const { data: unread = 0 } = useQuery(unreadQuery)
  const newest = query.data?.pages[0]?.rows[0]?.created_at
  const { send, pending, rest } = useSend(() => uk.notifications.read_all(newest ? { before: newest } : {}), refresh)
  return (
    <Page
      title="Inbox"
      lead={
        <>
          Choose what you’re notified about, and how, in{' '}
          <Link to="/settings/notifications" className="link">
            notification settings
          </Link>
          .
        </>
      }
      action={
        <Button icon="check" pending={pending} disabled={unread === 0} onClick={() => void send(undefined)}>
          Mark all as read
        </Button>
      }
    >
      <Refused>{rest()}</Refused>
      <label className="mb-4 flex w-fit items-center gap-2 text-sm">
        <input
          type="checkbox"
          checked={only === 'unread'}
          onChange={({ target }) => setOnly(target.checked ? 'unread' : 'all')}
        />
        Unread only
      </label>
      <Paged
        query={query}
        what="your notifications"
        label="Notifications"
        none={
          <Empty title={only === 'unread' ? 'No unread notifications' : 'Nothing here yet'}>
            Notifications about your chats, automations and workspaces appear here.
          </Empty>
        }
      >
        {(one) => <Row notification={one} />}
      </Paged>
    </Page>
  )
}

function Row({ notification }: { notification: Notification }) {
  const { id, title, body, status, severity, created_at } = notification
  const mark = useSend((to: 'read' | 'unread') => uk.notifications.update({ id, status: to }), refresh)
  const remove = useSend(() => uk.notifications.delete({ id }), refresh)
  const leads = pageOf(notification)
  const isUnread = status === 'unread'
  return (
    <div className="flex items-start gap-3">
      <span
        aria-hidden="true"
        className={`mt-2 size-2 shrink-0 rounded-full ${isUnread ? 'bg-seal' : 'bg-transparent'}`}
      />
      <div className="min-w-0 flex-1">
        <p className={isUnread ? 'font-medium' : ''}>
          {isUnread && <span className="sr-only">Unread: </span>}
          {leads === null ? (
            title
          ) : 'page' in leads ? (
            <PathLink path={leads.page} onFollow={() => isUnread && void mark.send('read')}>
              {title}
            </PathLink>
          ) : (
            <>
              {title}{' '}
              <a href={leads.href} className="link text-sm font-normal break-all" rel="noopener noreferrer nofollow">
                {leads.href}
              </a>
            </>
          )}
        </p>
        {body && <p className="mt-0.5 text-sm break-words whitespace-pre-line text-quiet">{body}</p>}
        <p className="mt-0.5 text-[0.8125rem] text-quiet">
          {severity === 'error' ? 'failed · ' : severity === 'warning' ? 'needs attention · ' : ''}
          <Ago time={created_at} />
        </p>
        <Refused>{mark.rest() ?? remove.rest()}</Refused>
      </div>
      <Actions
        label={`More actions for ${title}`}
        actions={[
          isUnread
            ? { label: 'Mark as read', run: () => void mark.send('read') }
            : { label: 'Mark as unread', run: () => void mark.send('unread') },
          { label: 'Delete', danger: true, run: () => void remove.send(undefined) },
        ]}
      />
    </div>
  )
}
