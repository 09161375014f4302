import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Failure, Waiting } from './notice.tsx'
import { Rows } from './page.tsx'

export function Paged<T extends { id: string }>({
  query: { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage },
  what,
  label,
  none,
  children,
}: {
  query: UseInfiniteQueryResult<InfiniteData<{ rows: T[] }>>
  /** The rows' name in a sentence: "the runs". */
  what: string
  label: string
  none: ReactNode
  children: (row: T) => ReactNode
}) {
  const rows = data?.pages.flatMap((page) => page.rows)
  if (error && !rows)
    return <Failure what={what.charAt(0).toUpperCase() + what.slice(1)} error={error} again={refetch} />
  if (!rows) return <Waiting what={what} />
  if (rows.length === 0) return none
  return (
    <>
      <Rows label={label}>
        {rows.map((row) => (
          <li key={row.id} className="px-4 py-3">
            {children(row)}
          </li>
        ))}
      </Rows>
      {hasNextPage && (
        <Button className="mt-3" pending={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
    </>
  )
}
