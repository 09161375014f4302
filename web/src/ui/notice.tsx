import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { readFailedAgain } from './calls/failed-queries.ts'
import { sayError } from './calls/errors.ts'
import { Button } from './button.tsx'
import { Icon } from './icons.tsx'
import { Heading } from './page.tsx'

export function Refused({ children }: { children: string | null }) {
  return (
    <div role="alert" className="empty:hidden">
      {children && (
        <p className="flex items-start gap-2 rounded-xs border border-seal/40 bg-seal-wash px-3 py-2 text-sm text-seal">
          <Icon name="alert" className="mt-0.5 size-4" />
          <span>{children}</span>
        </p>
      )}
    </div>
  )
}

/** A failed query. “Try again” retries all failed queries of the page. */
export function Failure({ what, error, again }: { what: string; error: unknown; again: () => unknown }) {
  const client = useQueryClient()
  return (
    <div role="alert" className="flex flex-wrap items-center gap-x-4 gap-y-2 border border-line bg-sheet px-4 py-5">
      <p className="min-w-0 flex-1 basis-64">
        <span className="font-medium">{what} can’t be shown.</span>{' '}
        <span className="text-quiet">{sayError(error, true)}</span>
      </p>
      <Button onClick={() => void Promise.all([again(), readFailedAgain(client)])}>Try again</Button>
    </div>
  )
}

/** An empty state: what this place is for, and one action. */
export function Empty({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className="relative overflow-hidden border border-line bg-sheet px-5 py-7 sm:px-8">
      <div aria-hidden="true" className="bokashi absolute inset-x-0 top-0 h-10 opacity-60" />
      <Heading className="relative font-serif text-lg">{title}</Heading>
      <div className="relative mt-1 max-w-prose text-quiet">{children}</div>
      {action && <div className="relative mt-4">{action}</div>}
    </div>
  )
}

/** A placeholder as high as the rows to come, to prevent layout shift. */
export function Waiting({ rows = 3, what }: { rows?: number; what: string }) {
  return (
    <div role="status" aria-label={`Loading ${what}`} className="border border-line bg-sheet">
      {Array.from({ length: rows }, (_, row) => (
        <div
          key={row}
          className="flex h-[4.25rem] flex-col justify-center gap-2 border-b border-line px-4 last:border-0"
        >
          <span className="h-3 w-2/5 animate-pulse rounded-xs bg-sunk" />
          <span className="h-2.5 w-3/5 animate-pulse rounded-xs bg-sunk" />
        </div>
      ))}
    </div>
  )
}
