import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { TextField } from '../../ui/field.tsx'
import { type EventType, eventTypesQuery } from './queries.ts'

/** `run.failed` → `run`. */
const kindOf = (type: string): string => type.slice(0, type.indexOf('.'))

export function EventPicker({
  events,
  onEvents,
  error,
}: {
  events: readonly string[]
  onEvents: (events: string[]) => void
  error: string | null
}) {
  const { data: types, error: failed, refetch } = useQuery(eventTypesQuery)
  const [words, setWords] = useState('')
  const everything = events.includes('*')
  const toggle = (one: string) =>
    onEvents(events.includes(one) ? events.filter((other) => other !== one) : [...events, one])
  return (
    <fieldset aria-invalid={error ? true : undefined} className="min-w-0">
      <legend className="mb-1 text-sm font-medium">Events</legend>
      <label className="flex w-fit items-center gap-2 text-sm">
        <input
          type="checkbox"
          className="size-4"
          checked={everything}
          onChange={() => onEvents(everything ? [] : ['*'])}
        />
        All events you can read
      </label>
      {!everything && (
        <div className="mt-3 space-y-3">
          <TextField
            label="Search events"
            type="search"
            value={words}
            onValue={setWords}
            placeholder="run.failed"
            hint={events.length === 0 ? 'Select at least one.' : `Selected: ${events.join(', ')}`}
          />
          {failed && !types ? (
            <Failure what="The events" error={failed} again={refetch} />
          ) : !types ? (
            <Waiting what="the events" />
          ) : (
            <Kinds types={types} words={words} events={events} toggle={toggle} />
          )}
        </div>
      )}
      {error && <p className="mt-1 text-[0.8125rem] leading-snug font-medium text-seal">{error}</p>}
    </fieldset>
  )
}

function Kinds({
  types,
  words,
  events,
  toggle,
}: {
  types: readonly EventType[]
  words: string
  events: readonly string[]
  toggle: (one: string) => void
}) {
  const needle = words.trim().toLowerCase()
  const matches = types.filter(({ type, description }) => `${type} ${description}`.toLowerCase().includes(needle))
  const kinds = [...Map.groupBy(matches, ({ type }) => kindOf(type))]
  if (kinds.length === 0) return <p className="text-sm text-quiet">No matching events.</p>
  return (
    <div
      role="group"
      aria-label="Event types"
      className="max-h-72 divide-y divide-line overflow-y-auto border border-line bg-sheet"
    >
      {kinds.map(([kind, ofKind]) => {
        const all = `${kind}.*`
        return (
          <details key={kind} open={needle !== '' || ofKind.some(({ type }) => events.includes(type))}>
            <summary className="px-3 py-2 text-sm">
              <span className="font-medium">{kind.replaceAll('_', ' ')}</span>{' '}
              <span className="text-quiet">
                {events.includes(all)
                  ? 'all'
                  : `${ofKind.filter(({ type }) => events.includes(type)).length} of ${ofKind.length}`}
              </span>
            </summary>
            <div className="space-y-1.5 px-3 pb-3">
              <Tick
                label={<code className="font-mono">{all}</code>}
                on={events.includes(all)}
                toggle={() => toggle(all)}
              >
                All of this kind, including ones added in later versions
              </Tick>
              {ofKind.map(({ type, description }) => (
                <Tick
                  key={type}
                  label={<code className="font-mono">{type}</code>}
                  on={events.includes(all) || events.includes(type)}
                  disabled={events.includes(all)}
                  toggle={() => toggle(type)}
                >
                  {description}
                </Tick>
              ))}
            </div>
          </details>
        )
      })}
    </div>
  )
}

const Tick = ({
  label,
  on,
  disabled = false,
  toggle,
  children,
}: {
  label: React.ReactNode
  on: boolean
  disabled?: boolean
  toggle: () => void
  children: React.ReactNode
}) => (
  <label className="flex items-start gap-2 text-[0.8125rem]">
    <input type="checkbox" className="mt-0.5 size-4 shrink-0" checked={on} disabled={disabled} onChange={toggle} />
    <span className="min-w-0">
      {label} <span className="text-quiet">{children}</span>
    </span>
  </label>
)
