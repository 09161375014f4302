import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { unreadQuery } from '../shared/inbox/queries.ts'
import { receivedQuery } from '../shared/invitations/queries.ts'
import { useAccount } from '../shared/session.ts'
import { Icon } from '../ui/icons.tsx'
import { pagesFor } from './pages.ts'

const place =
  'relative flex min-h-8 items-center gap-2.5 rounded-xs px-3 py-1 text-sm text-quiet transition-colors hover:bg-sunk hover:text-ink pointer-coarse:min-h-11'
const here =
  'data-[status=active]:bg-sheet data-[status=active]:font-medium data-[status=active]:text-ink data-[status=active]:before:absolute data-[status=active]:before:inset-y-1.5 data-[status=active]:before:left-0 data-[status=active]:before:w-[3px] data-[status=active]:before:bg-seal'

/** Hides labels visually in the narrow rail; screen readers still get them. */
export const inRail = 'sr-only wide:group-data-[rail=wide]/rail:not-sr-only'
const badge = 'figures rounded-xs bg-seal px-1.5 text-xs leading-5 text-on-seal'
const besideWords = `${badge} ml-auto`
const onSign = `${badge} absolute -top-0.5 right-0 wide:group-data-[rail=wide]/rail:static wide:group-data-[rail=wide]/rail:ml-auto`

/** The navigation. Icons only in the narrow rail. */
export function Nav({ words, onGo }: { words: 'always' | 'in-rail'; onGo?: () => void }) {
  const { data: received = [] } = useQuery(receivedQuery)
  const { administrator } = useAccount()
  const { data: unread = 0 } = useQuery(unreadQuery)
  const label = words === 'always' ? '' : inRail
  const count = words === 'always' ? besideWords : onSign
  return (
    <nav aria-label="Pages" className="flex flex-col gap-px">
      {pagesFor(administrator).map(({ to, label: name, icon, keys }) => (
        <Link
          key={to}
          to={to}
          onClick={onGo}
          activeOptions={{ exact: to === '/' }}
          title={`${name} (${keys})`}
          className={`${place} ${here}`}
        >
          <Icon name={icon} />
          <span className={label}>{name}</span>
          {to === '/inbox' && unread > 0 && (
            <span className={count}>
              {unread > 99 ? '99+' : unread} <span className="sr-only">unread</span>
            </span>
          )}
        </Link>
      ))}
      {received.length > 0 && (
        <Link to="/invitations" onClick={onGo} title="Invitations" className={`${place} ${here}`}>
          <Icon name="mail" />
          <span className={label}>Invitations</span>
          <span className={count}>{received.length}</span>
        </Link>
      )}
      <a href="/docs" title="API reference" className={place}>
        <Icon name="book" />
        <span className={label}>API reference</span>
      </a>
    </nav>
  )
}
