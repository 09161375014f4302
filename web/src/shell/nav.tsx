import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { unreadQuery } from '../inbox/queries.ts'
import { receivedQuery } from '../invitations/queries.ts'
import { useAccount } from '../session.ts'
import { Icon, type IconName } from '../ui/icons.tsx'

const pages = [
  { to: '/chats', label: 'Chats', icon: 'chat' },
  { to: '/agents', label: 'Agents', icon: 'agent' },
  { to: '/automations', label: 'Automations', icon: 'clock' },
  { to: '/operations', label: 'Operations', icon: 'going' },
  { to: '/inbox', label: 'Inbox', icon: 'bell' },
  { to: '/ai-routing', label: 'AI routing', icon: 'route' },
  { to: '/workspaces', label: 'Workspaces', icon: 'people' },
  { to: '/shared-with-me', label: 'Shared with me', icon: 'person' },
  { to: '/developer', label: 'Developer tools', icon: 'code' },
  { to: '/settings/developer', label: 'Developer settings', icon: 'key' },
  { to: '/settings/security', label: 'Security', icon: 'shield' },
] as const satisfies { to: string; label: string; icon: IconName }[]

const place =
  'relative flex items-center gap-2.5 rounded-xs px-3 py-2 text-sm text-quiet transition-colors hover:bg-sunk hover:text-ink'
// The seal's colour says where you are.
const here =
  'data-[status=active]:bg-sheet data-[status=active]:font-medium data-[status=active]:text-ink data-[status=active]:before:absolute data-[status=active]:before:inset-y-1.5 data-[status=active]:before:left-0 data-[status=active]:before:w-[3px] data-[status=active]:before:bg-seal'

const count = 'figures ml-auto rounded-xs bg-seal px-1.5 text-xs leading-5 text-on-seal'

export function Nav({ onGo }: { onGo?: () => void }) {
  const { data: received = [] } = useQuery(receivedQuery)
  const { administrator } = useAccount()
  const { data: unread = 0 } = useQuery(unreadQuery)
  return (
    <nav aria-label="Pages" className="flex flex-col gap-0.5">
      {pages.map(({ to, label, icon }) => (
        <Link key={to} to={to} onClick={onGo} className={`${place} ${here}`}>
          <Icon name={icon} />
          {label}
          {to === '/inbox' && unread > 0 && (
            <span className={count}>
              {unread > 99 ? '99+' : unread} <span className="sr-only">unread</span>
            </span>
          )}
        </Link>
      ))}
      {administrator && (
        <>
          <Link to="/accounts" onClick={onGo} className={`${place} ${here}`}>
            <Icon name="people" />
            Accounts
          </Link>
          <Link to="/admin/instance" onClick={onGo} className={`${place} ${here}`}>
            <Icon name="shield" />
            Instance
          </Link>
        </>
      )}
      {received.length > 0 && (
        <Link to="/invitations" onClick={onGo} className={`${place} ${here}`}>
          <Icon name="mail" />
          Invitations
          <span className={count}>{received.length}</span>
        </Link>
      )}
      <a href="/docs" className={place}>
        <Icon name="book" />
        API reference
      </a>
    </nav>
  )
}
