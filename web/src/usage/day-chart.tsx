import { type KeyboardEvent, useState } from 'react'
import { plural } from '../ui/text/format.ts'
import { Button } from '../ui/button.tsx'
import { type Stack, scaleFor } from './stack.ts'

/** Colors that also differ in lightness. */
const pigments = [
  'fill-pigment-1',
  'fill-pigment-2',
  'fill-pigment-3',
  'fill-pigment-4',
  'fill-pigment-5',
  'fill-pigment-6',
]
/** The width of a column and its gap. */
const COLUMN = 10
const FREE = 1.5
const HEIGHT = 100

interface Props {
  stack: Stack
  label: string
  say: (value: number) => string
}

/** A stacked column chart. Hover or the arrow keys show the values of a day; screen readers always get the table. */
export function DayChart({ stack, label, say }: Props) {
  const [at, setAt] = useState<number | null>(null)
  const [table, setTable] = useState(false)
  const top = scaleFor(stack.peak)
  const last = stack.days.length - 1
  const move = (event: KeyboardEvent) => {
    const to = { ArrowLeft: (at ?? last + 1) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: last }[event.key]
    if (to === undefined) return
    event.preventDefault()
    setAt(Math.min(last, Math.max(0, to)))
  }
  return (
    <figure className="border border-line border-t-keyline bg-sheet px-4 pt-4 pb-3">
      <figcaption className="mb-3">
        <Legend names={stack.names} />
      </figcaption>
      <div
        role="group"
        aria-label={`${label} per day. Use the arrow keys to move between days.`}
        tabIndex={0}
        onKeyDown={move}
        onBlur={() => setAt(null)}
        onPointerLeave={() => setAt(null)}
        className="relative grid grid-cols-[auto_minmax(0,1fr)] gap-x-2"
      >
        <div aria-hidden="true" className="figures flex h-48 flex-col justify-between text-right text-xs text-quiet">
          {[1, 0.5, 0].map((part) => (
            <span key={part} className="-my-2 leading-4">
              {say(top * part)}
            </span>
          ))}
        </div>
        <div aria-hidden="true" className="relative h-48">
          {[0, 50, 100].map((y) => (
            <div key={y} className="absolute inset-x-0 border-t border-line" style={{ top: `${y}%` }} />
          ))}
          <svg
            viewBox={`0 0 ${stack.days.length * COLUMN} ${HEIGHT}`}
            preserveAspectRatio="none"
            className="absolute inset-0 size-full forced-color-adjust-none"
          >
            {stack.days.map((day, column) => (
              <Column key={day.day} day={day} at={column} top={top} pointed={column === at} onPoint={setAt} />
            ))}
          </svg>
        </div>
        <div aria-hidden="true" className="col-start-2 mt-1.5 flex justify-between text-xs text-quiet">
          {[0, Math.floor(last / 2), last].map((i) => (
            <span key={i}>{sayDay(stack.days[i]!.day)}</span>
          ))}
        </div>
      </div>
      <div className="mt-2 flex items-start gap-4 border-t border-line pt-2">
        <p aria-live="polite" className="figures min-h-10 min-w-0 flex-1 text-[0.8125rem] leading-snug text-quiet">
          {readout(stack, at, say)}
        </p>
        <Button look="quiet" className="-my-1 -mr-2" aria-expanded={table} onClick={() => setTable(!table)}>
          {table ? 'Hide table' : 'Show table'}
        </Button>
      </div>
      <div className={table ? undefined : 'sr-only'}>
        <Figures stack={stack} label={label} say={say} scrolls={table} />
      </div>
    </figure>
  )
}

/** A day's column. The whole height reacts to the pointer. */
function Column({
  day: { values },
  at,
  top,
  pointed,
  onPoint,
}: {
  day: Stack['days'][number]
  at: number
  top: number
  pointed: boolean
  onPoint: (column: number) => void
}) {
  let under = HEIGHT
  return (
    <g onPointerEnter={() => onPoint(at)}>
      <rect x={at * COLUMN} width={COLUMN} height={HEIGHT} className={pointed ? 'fill-ai-wash' : 'fill-transparent'} />
      {values.map((value, i) => {
        // Keeps small values visible.
        const height = value > 0 ? Math.max(0.6, (value / top) * HEIGHT) : 0
        under -= height
        return (
          <rect
            key={i}
            x={at * COLUMN + FREE / 2}
            y={under}
            width={COLUMN - FREE}
            height={height}
            className={pigments[i]}
            data-value={value}
          />
        )
      })}
    </g>
  )
}

/** `2026-11-21` → `Nov 21`. Days are in UTC, like spend caps. */
const sayDay = (day: string): string =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })

function readout({ days, names }: Stack, at: number | null, say: (value: number) => string): string {
  if (at === null) {
    const busiest = days.reduce((a, b) => (b.total > a.total ? b : a))
    return `${plural(days.length, 'day')}, UTC. Highest on ${sayDay(busiest.day)}: ${say(busiest.total)}.`
  }
  const { day, values, total } = days[at]!
  const parts = names.map((name, i) => ({ name, value: values[i]! })).filter(({ value }) => value > 0)
  if (parts.length === 0) return `${sayDay(day)}: nothing.`
  return `${sayDay(day)}: ${say(total)}. ${parts.map(({ name, value }) => `${name} ${say(value)}`).join(' · ')}`
}

const Legend = ({ names }: { names: readonly string[] }) => (
  <ul aria-label="Legend" className="flex flex-wrap gap-x-4 gap-y-1 text-[0.8125rem]">
    {names.map((name, i) => (
      <li key={name} className="flex min-w-0 items-center gap-1.5">
        <svg aria-hidden="true" viewBox="0 0 1 1" className="size-2.5 shrink-0 forced-color-adjust-none">
          <rect width="1" height="1" className={pigments[i]} />
        </svg>
        <span className="break-all">{name}</span>
      </li>
    ))}
  </ul>
)

function Figures({ stack: { names, days }, label, say, scrolls }: Props & { scrolls: boolean }) {
  return (
    <div
      className={scrolls ? 'mt-3 max-h-80 overflow-auto border-t border-line' : ''}
      {...(scrolls && { tabIndex: 0 })}
      role="region"
      aria-label={`${label} per day`}
    >
      <table className="figures w-full text-[0.8125rem]">
        <thead>
          <tr className="text-left text-quiet">
            <th scope="col" className="sticky top-0 bg-sheet py-1.5 pr-4 font-medium">
              Day
            </th>
            {[...names, 'Total'].map((name) => (
              <th key={name} scope="col" className="sticky top-0 bg-sheet py-1.5 pl-4 text-right font-medium">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {days
            .filter(({ total }) => total > 0)
            .toReversed()
            .map(({ day, values, total }) => (
              <tr key={day} className="border-t border-line">
                <th scope="row" className="py-1.5 pr-4 text-left font-normal whitespace-nowrap">
                  {sayDay(day)}
                </th>
                {[...values, total].map((value, i) => (
                  <td key={names[i] ?? 'total'} className="py-1.5 pl-4 text-right">
                    {value === 0 ? '—' : say(value)}
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  )
}
