import { useEffect, useState } from 'react'
import { Icon } from '../../ui/icons.tsx'
import { ago, moment } from '../../ui/text/format.ts'
import { useLine } from './line.ts'

/** A server restart takes less time, so it isn't reported. */
const PATIENCE_MS = 2_000
const AGE_MS = 30_000

/** Shows that the server can't be reached, and how old the page's data is. */
export function LineBar() {
  const line = useLine()
  const lostAt = line === 'open' ? null : line.lostAt
  const [now, setNow] = useState(0)
  useEffect(() => {
    if (lostAt === null) return setNow(0)
    const look = (): void => setNow(Date.now())
    const first = setTimeout(look, PATIENCE_MS)
    const again = setInterval(look, AGE_MS)
    return () => {
      clearTimeout(first)
      clearInterval(again)
    }
  }, [lostAt])
  const shown = lostAt !== null && now > 0
  return (
    <div role="status" className="sticky top-12 z-10 empty:hidden rail:top-0">
      {shown && (
        <p className="flex items-center gap-2 border-b border-ochre/45 bg-sheet px-4 py-2 text-sm text-ochre">
          <Icon name="alert" />
          <span>
            {navigator.onLine ? 'The server can’t be reached.' : 'You are offline.'} Last updated{' '}
            <time dateTime={new Date(lostAt).toISOString()} title={moment(new Date(lostAt).toISOString())}>
              {ago(new Date(lostAt).toISOString(), now)}
            </time>
            ; connecting …
          </span>
        </p>
      )}
    </div>
  )
}
