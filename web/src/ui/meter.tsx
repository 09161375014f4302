import { Meter as Base } from '@base-ui/react/meter'
import { usd } from './text/format.ts'

const period = { day: 'today', week: 'this week', month: 'this month', total: 'in total' } as const

/** The spent part of a cap. Without a cap, the amount spent. */
export function SpendMeter({
  spent,
  cap,
  per,
  name,
}: {
  spent: number
  cap: number | null
  per: keyof typeof period
  name: string
}) {
  if (cap === null)
    return (
      <p className="figures text-sm">
        {usd(spent)}{' '}
        <span className="text-quiet">{per === 'total' ? 'spent, no cap' : `spent ${period[per]}, no cap`}</span>
      </p>
    )
  const share = cap === 0 ? 1 : Math.min(1, spent / cap)
  const tone = share >= 1 ? 'bg-seal' : share >= 0.8 ? 'bg-ochre' : 'bg-ai'
  const words = `${usd(spent)} of ${usd(cap)} ${period[per]}`
  return (
    <Base.Root value={Math.min(spent, cap)} max={cap || 1} aria-label={`Spent by ${name}`} aria-valuetext={words}>
      <p className="figures mb-1 text-sm" aria-hidden="true">
        {usd(spent)}{' '}
        <span className="text-quiet">
          of {usd(cap)} {period[per]}
        </span>
      </p>
      <Base.Track className="block h-1.5 overflow-hidden forced-color-adjust-none rounded-xs bg-sunk">
        <Base.Indicator className={`block h-full transition-[width] duration-500 ease-brush ${tone}`} />
      </Base.Track>
    </Base.Root>
  )
}
