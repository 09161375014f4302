import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, Suspense, createContext, lazy, use, useState } from 'react'
import { unreadQuery } from '../../shared/inbox/queries.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { atHand, pages } from '../pages.ts'
import { Switcher } from './switcher.tsx'

const DrawerPopup = lazy(() => import('./drawer-popup.tsx'))
const OpenDrawer = createContext<() => void>(() => {})

export function Drawer({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState(false)
  return (
    <OpenDrawer value={() => setOpen(true)}>
      {children}
      {open && (
        <Suspense fallback={null}>
          <DrawerPopup onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </OpenDrawer>
  )
}

export function TopBar() {
  const openDrawer = use(OpenDrawer)
  return (
    <header className="sticky top-0 z-20 flex h-12 shrink-0 items-center justify-between gap-2 border-b border-line bg-paper px-2 rail:hidden">
      <Switcher words="always" />
      <button type="button" aria-label="Menu" onClick={openDrawer} className={buttonClass('quiet', true)}>
        <Icon name="menu" className="size-5" />
      </button>
    </header>
  )
}

const spot =
  'relative flex flex-1 flex-col items-center justify-center gap-0.5 text-[0.6875rem] text-quiet data-[status=active]:font-medium data-[status=active]:text-ink data-[status=active]:before:absolute data-[status=active]:before:inset-x-4 data-[status=active]:before:top-0 data-[status=active]:before:h-[3px] data-[status=active]:before:bg-seal'

export function BottomBar() {
  const openDrawer = use(OpenDrawer)
  const { data: unread = 0 } = useQuery(unreadQuery)
  return (
    <nav
      aria-label="Main pages"
      className="fixed inset-x-0 bottom-0 z-20 flex h-14 border-t border-line bg-paper pb-[env(safe-area-inset-bottom)] rail:hidden"
    >
      {pages
        .filter(({ to }) => atHand.includes(to))
        .map(({ to, label, icon }) => (
          <Link key={to} to={to} className={spot}>
            <Icon name={icon} className="size-5" />
            {label}
            {to === '/inbox' && unread > 0 && (
              <span className="absolute top-1.5 left-[calc(50%+0.5rem)] size-2 rounded-full bg-seal">
                <span className="sr-only">{unread} unread</span>
              </span>
            )}
          </Link>
        ))}
      <Link to="/search" className={spot}>
        <Icon name="search" className="size-5" />
        Search
      </Link>
      <button type="button" onClick={openDrawer} className={spot}>
        <Icon name="menu" className="size-5" />
        More
      </button>
    </nav>
  )
}
