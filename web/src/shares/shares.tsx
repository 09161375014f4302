import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { queryClient, uk } from '../shared/api.ts'
import { pagedQuery } from '../shared/paged-query.ts'
import { Button } from '../ui/button.tsx'
import { say } from '../ui/toast/toast.tsx'
import { Paged } from '../ui/more.tsx'
import { Empty, Refused } from '../ui/notice.tsx'
import { Page, Tag } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { Ago } from '../ui/text/time.tsx'

type Shared = Awaited<ReturnType<typeof uk.shared_with_me.list>>['rows'][number]

const sharedQuery = pagedQuery(['shared-with-me'], (from) => uk.shared_with_me.list({ limit: 50, ...from }))

function Sides() {
  const place =
    'border-b-2 border-transparent px-1 pb-1.5 text-sm text-quiet hover:text-ink data-[status=active]:border-seal data-[status=active]:text-ink'
  return (
    <nav aria-label="Shares" className="mb-5 flex gap-5">
      <Link to="/shared-with-me" className={place}>
        Shared with me
      </Link>
      <Link to="/shared-by-me" className={place}>
        Shared by me
      </Link>
    </nav>
  )
}

const givenQuery = pagedQuery(['shared-by-me'], (from) => uk.shares.given({ limit: 50, ...from }))
type OwnShare = Awaited<ReturnType<typeof uk.shares.given>>['rows'][number]

export function SharedByMe() {
  return (
    <Page title="Shared by me" lead="Resources you shared with others, newest first.">
      <Sides />
      <Paged
        query={useInfiniteQuery(givenQuery)}
        what="your shares"
        label="Shared by me"
        none={
          <Empty title="Nothing here yet">
            Resources you share with others appear here, and you can remove access at any time.
          </Empty>
        }
      >
        {(given) => <GivenRow given={given} />}
      </Paged>
    </Page>
  )
}

function GivenRow({ given }: { given: OwnShare }) {
  const { id, resource_type, resource_id, title, grantee, access, status, created_at } = given
  const name = title ?? `untitled ${resource_type}`
  const whom = grantee.name ?? grantee.email ?? 'a user'
  const revoking = useSend(uk.shares.revoke, async () => {
    await queryClient.invalidateQueries({ queryKey: ['shared-by-me'] })
    say(`Removed ${whom} from ${name}`)
  })
  return (
    <div className="flex flex-wrap items-center gap-x-5 gap-y-2">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium break-words">
          {resource_type === 'chat' ? (
            <Link className="link" to="/chats/$id" params={{ id: resource_id }}>
              {name}
            </Link>
          ) : (
            name
          )}
        </p>
        <p className="text-[0.8125rem] break-words text-quiet">
          {resource_type} · with {grantee.workspace_id !== null ? `everyone in ${whom}` : whom} ·{' '}
          <Ago time={created_at} />
        </p>
        <Refused>{revoking.rest()}</Refused>
      </div>
      {status === 'pending' && <Tag tone="warn">pending</Tag>}
      <Tag tone={access === 'edit' ? 'ai' : 'plain'}>{access === 'edit' ? 'can edit' : 'can view'}</Tag>
      <Button
        look="danger-plain"
        aria-label={`Remove access of ${whom} to ${name}`}
        pending={revoking.pending}
        onClick={() => void revoking.send({ share_id: id })}
      >
        Remove access
      </Button>
    </div>
  )
}

export function SharedWithMe() {
  return (
    <Page title="Shared with me" lead="Chats, agents, files and folders shared with you, newest first.">
      <Sides />
      <Paged
        query={useInfiniteQuery(sharedQuery)}
        what="resources shared with you"
        label="Shared with me"
        none={
          <Empty title="Nothing here yet">Resources shared with you or with one of your workspaces appear here.</Empty>
        }
      >
        {(shared) => <SharedRow shared={shared} />}
      </Paged>
    </Page>
  )
}

function SharedRow({ shared }: { shared: Shared }) {
  const { resource_type, resource_id, title, shared_by, access, created_at, grantee } = shared
  const name = title ?? `untitled ${resource_type}`
  return (
    <div className="flex flex-wrap items-baseline gap-x-5 gap-y-1">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium break-words">
          {resource_type === 'chat' ? (
            <Link className="link" to="/chats/$id" params={{ id: resource_id }}>
              {name}
            </Link>
          ) : resource_type === 'file' ? (
            <Link className="link" to="/drive/file/$id" params={{ id: resource_id }}>
              {name}
            </Link>
          ) : resource_type === 'folder' ? (
            <Link className="link" to="/drive/f/$folder" params={{ folder: resource_id }}>
              {name}
            </Link>
          ) : resource_type === 'agent' ? (
            <Link className="link" to="/agents/$id" params={{ id: resource_id }}>
              {name}
            </Link>
          ) : (
            name
          )}
        </p>
        <p className="text-[0.8125rem] text-quiet">
          {resource_type} · by {shared_by ?? 'a deleted user'}
          {grantee.workspace_id !== null && ` · with everyone in ${grantee.name ?? 'one of your workspaces'}`} ·{' '}
          <Ago time={created_at} />
        </p>
      </div>
      <Tag tone={access === 'edit' ? 'ai' : 'plain'}>{access === 'edit' ? 'can edit' : 'can view'}</Tag>
    </div>
  )
}
