import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { Page } from '../ui/page.tsx'

const views = [
  { to: '/ai-routing', label: 'Providers', exact: true },
  { to: '/ai-routing/preview', label: 'Preview', exact: false },
  { to: '/ai-routing/models', label: 'Models', exact: false },
  { to: '/ai-routing/keys', label: 'Workspace keys', exact: false },
  { to: '/ai-routing/usage', label: 'Usage', exact: false },
] as const

export function Routing() {
  const { pathname } = useLocation()
  const view = views.find(({ to }) => to === pathname)
  return (
    <Page
      title="AI routing"
      view={view?.label}
      lead="The providers for your model calls, their order, keys and prices."
    >
      <nav aria-label="AI routing" className="mb-8 flex gap-3.5 overflow-x-auto sm:gap-5 border-b border-line">
        {views.map(({ to, label, exact }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact }}
            className="-mb-px border-b-2 border-transparent py-2 text-sm whitespace-nowrap text-quiet hover:text-ink data-[status=active]:border-seal data-[status=active]:font-medium data-[status=active]:text-ink"
          >
            {label}
          </Link>
        ))}
      </nav>
      <Outlet />
    </Page>
  )
}
