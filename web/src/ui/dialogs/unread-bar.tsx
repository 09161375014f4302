import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { readFailedAgain, unshownError } from '../calls/failed-queries.ts'
import { sayError } from '../calls/errors.ts'
import { Button } from '../button.tsx'
import { Icon } from '../icons.tsx'

/** How long parts of the page have to show their own errors. */
const SETTLE_MS = 300

/** The bars on this page. Only the last one shows errors: an open dialog covers the page. */
const bars: object[] = []

/** Shows errors of queries that the page itself, or the open dialog, doesn't show. */
export function UnreadBar() {
  const client = useQueryClient()
  const [why, setWhy] = useState<string | null>(null)
  useEffect(() => {
    const bar = {}
    bars.push(bar)
    let timer: ReturnType<typeof setTimeout> | undefined
    let shown: unknown = null
    const look = (): void => {
      timer = undefined
      if (shown !== null && isStillThere(client, shown)) return
      shown = bars.at(-1) === bar ? unshownError(client) : null
      setWhy(shown === null ? null : sayError(shown))
    }
    const leave = client.getQueryCache().subscribe(() => {
      timer ??= setTimeout(look, SETTLE_MS)
    })
    return () => {
      bars.splice(bars.indexOf(bar), 1)
      leave()
      clearTimeout(timer)
    }
  }, [client])
  return (
    <div role="alert" className="empty:hidden">
      {why !== null && (
        <p className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-seal/40 bg-seal-wash px-4 py-1.5 text-sm">
          <Icon name="alert" className="size-4 text-seal" />
          <span className="min-w-0 flex-1 basis-64">Part of this page couldn’t be loaded. {why}</span>
          <Button onClick={() => void readFailedAgain(client)}>Try again</Button>
        </p>
      )}
    </div>
  )
}

const isStillThere = (client: QueryClient, error: unknown): boolean =>
  client
    .getQueryCache()
    .findAll({ type: 'active' })
    .some(({ state }) => state.error === error)
