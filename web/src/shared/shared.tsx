import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { uk } from '../api.ts'
import { Paged } from '../ui/more.tsx'
import { Empty } from '../ui/notice.tsx'
import { Page, Tag } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'

type Shared = Awaited<ReturnType<typeof uk.shared_with_me.list>>['rows'][number]

const sharedQuery = infiniteQueryOptions({
  queryKey: ['shared-with-me'],
  queryFn: ({ pageParam }) => uk.shared_with_me.list({ limit: 50, ...(pageParam !== null && { cursor: pageParam }) }),
  initialPageParam: null as string | null,
  getNextPageParam: ({ next }) => next,
})

export function SharedWithMe() {
  return (
    <Page title="Shared with me" lead="Chats, agents, files and folders that others gave you, newest first.">
      <Paged
        query={useInfiniteQuery(sharedQuery)}
        what="what is shared with you"
        label="Shared with me"
        none={
          <Empty title="Nothing yet">What others share with you, or with a workspace of yours, shows up here.</Empty>
        }
      >
        {(shared) => <SharedRow shared={shared} />}
      </Paged>
    </Page>
  )
}

function SharedRow({ shared }: { shared: Shared }) {
  const { resource_type, resource_id, title, shared_by, access, created_at, grantee } = shared
  const name = title ?? `a ${resource_type} without a name`
  return (
    <div className="flex flex-wrap items-baseline gap-x-5 gap-y-1">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium break-words">
          {resource_type === 'chat' ? (
            <Link className="link" to="/chats/$id" params={{ id: resource_id }}>
              {name}
            </Link>
          ) : resource_type === 'file' ? (
            <a className="link" href={`/v1/drive/files/${resource_id}?disposition=attachment`}>
              {name}
            </a>
          ) : resource_type === 'folder' ? (
            <a className="link" href={`/v1/drive/files/${resource_id}/archive`}>
              {name}
            </a>
          ) : (
            name
          )}
        </p>
        <p className="text-[0.8125rem] text-quiet">
          {resource_type} · by {shared_by ?? 'somebody who is gone'}
          {grantee.workspace_id !== null && ` · with everybody in ${grantee.name ?? 'a workspace of yours'}`} ·{' '}
          <Ago time={created_at} />
        </p>
      </div>
      <Tag tone={access === 'edit' ? 'ai' : 'plain'}>{access === 'edit' ? 'may edit' : 'may view'}</Tag>
    </div>
  )
}
