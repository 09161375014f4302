import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Page } from '../ui/page.tsx'

const views = [
  { to: '/developer/requests', label: 'Requests' },
  { to: '/developer/webhooks', label: 'Webhooks' },
  { to: '/developer/playground', label: 'Playground' },
  { to: '/settings/developer', label: 'Keys' },
] as const

export function DeveloperPage({
  title,
  lead,
  action,
  children,
}: {
  title: string
  lead: ReactNode
  action?: ReactNode
  children: ReactNode
}) {
  return (
    <Page title={title} lead={lead} action={action}>
      <nav aria-label="Developer tools" className="mb-8 flex gap-3.5 overflow-x-auto border-b border-line sm:gap-5">
        {views.map(({ to, label }) => (
          <Link
            key={to}
            to={to}
            className="-mb-px border-b-2 border-transparent py-2 text-sm whitespace-nowrap text-quiet hover:text-ink data-[status=active]:border-seal data-[status=active]:font-medium data-[status=active]:text-ink"
          >
            {label}
          </Link>
        ))}
      </nav>
      {children}
    </Page>
  )
}
