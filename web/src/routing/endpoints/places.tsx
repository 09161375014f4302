import { type ReactNode, useId } from 'react'
import { type Endpoint, uk } from '../../shared/api.ts'
import { say } from '../../ui/toast/toast.tsx'
import { Refused } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { refreshRouting } from '../../shared/providers/queries.ts'
import { type Doing, EndpointRow } from './endpoint-row.tsx'
import { type Drop, changesFor, moved, placesOf, step } from './order.ts'
import { useDropPlace } from './use-drag.ts'

const ordinal = (index: number): string => `Priority ${index + 1}`

/**
 * The providers of one owner in order. `doing` is null if the person can't change them. Rows can't be dragged to
 * another owner's list.
 */
export function Places({ endpoints, doing }: { endpoints: readonly Endpoint[]; doing: Doing | null }) {
  const places = placesOf(endpoints)
  const { send, pending, rest } = useSend(
    async ({ next }: { next: Endpoint[][]; name: string }) => {
      try {
        for (const change of changesFor(next)) await uk.ai_gateway.update(change)
      } finally {
        await refreshRouting()
      }
    },
    (_, { next, name }) => {
      const place = next.findIndex((sharing) => sharing.some((one) => one.name === name))
      say(`Moved ${name} to priority ${place + 1} of ${next.length}`)
    },
  )
  const list = useId()
  const drop = (id: string, to: number, at: Drop) => {
    const name = endpoints.find((one) => one.id === id)?.name
    if (name === undefined) return say('You can reorder providers only within their group')
    const next = pending || doing === null ? null : moved(places, id, to, at)
    if (next) void send({ next, name })
  }
  const mover = (endpoint: Endpoint, direction: 'up' | 'down') => {
    const next = step(places, endpoint.id, direction)
    return next && !pending ? () => void send({ next, name: endpoint.name }) : null
  }
  return (
    <>
      <ol className="divide-y divide-line border border-line border-t-keyline bg-sheet">
        {places.map((sharing, index) => (
          <Place
            key={sharing[0]!.id}
            label={ordinal(index)}
            shared={sharing.length > 1}
            list={list}
            onDrop={(id, at) => drop(id, index, at)}
          >
            {places.length > 1 || sharing.length > 1 ? (
              <p className="eyebrow px-4 pt-2.5">
                {ordinal(index)}
                {sharing.length > 1 && ', sharing traffic by weight and price'}
              </p>
            ) : null}
            {sharing.map((endpoint) => (
              <EndpointRow
                key={endpoint.id}
                endpoint={endpoint}
                up={mover(endpoint, 'up')}
                down={mover(endpoint, 'down')}
                shared={sharing.length > 1}
                alone={endpoints.length === 1}
                list={list}
                doing={doing}
              />
            ))}
          </Place>
        ))}
      </ol>
      <div className="mt-2">
        <Refused>{rest()}</Refused>
      </div>
    </>
  )
}

const marks: Record<Drop, string> = {
  before: 'shadow-[inset_0_2px_0_0_var(--color-seal)]',
  into: 'bg-ai-wash',
  after: 'shadow-[inset_0_-2px_0_0_var(--color-seal)]',
}

function Place({
  label,
  shared,
  list,
  onDrop,
  children,
}: {
  label: string
  shared: boolean
  list: string
  onDrop: (id: string, at: Drop) => void
  children: ReactNode
}) {
  const { place, over } = useDropPlace(list, onDrop)
  return (
    <li
      ref={place}
      aria-label={label}
      className={`${shared ? 'border-l-[3px] border-l-ai/60' : ''} ${over ? marks[over] : ''}`}
    >
      {children}
    </li>
  )
}
