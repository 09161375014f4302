import { Tag } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'
import type { Computer } from './queries.ts'
import { type Standing, stateOf } from './words.ts'

/** A shape and a word in addition to the color. */
export function State({ computer }: { computer: Computer }) {
  const { tone, words } = stateOf(computer)
  const here = computer.connection === 'online'
  return (
    <Tag tone={tone}>
      <span
        aria-hidden="true"
        className={`mr-1.5 inline-block size-2 rounded-full border border-current align-baseline ${here ? 'bg-current' : ''}`}
      />
      {words}
    </Tag>
  )
}

export function LastSeen({ computer: { connection, last_seen_at } }: { computer: Computer }) {
  if (connection === 'online' || last_seen_at === null) return null
  return (
    <>
      last seen <Ago time={last_seen_at} />
    </>
  )
}

export function Reason({ standing }: { standing: Standing }) {
  return standing.ready ? null : (
    <p role="status" className="border border-line border-l-ochre border-l-2 bg-sheet px-4 py-3 text-sm text-quiet">
      {standing.why}
    </p>
  )
}
