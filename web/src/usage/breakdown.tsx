import type { Usage } from './queries.ts'
import { short, usd } from '../ui/text/format.ts'
import { Name } from '../ui/text/words.tsx'
import { measures } from './measures.ts'
import type { View } from '../shared/views/usage.ts'

type Sums = Usage['total']
/** `value`: the filter that a click sets; without it, the row can't be clicked. */
export type Named = Sums & { name: string; value?: string | null }

export function Breakdown({
  title,
  rows,
  measure,
  chosen,
  onChoose,
}: {
  title: string
  rows: readonly Named[]
  measure: View['measure']
  chosen?: string | undefined
  onChoose?: (value: string) => void
}) {
  const { of } = measures[measure]
  const sum = rows.reduce((total, row) => total + of(row), 0)
  const ranked = rows.toSorted((a, b) => of(b) - of(a))
  return (
    <div className="overflow-x-auto border border-line border-t-keyline bg-sheet">
      <table className="figures w-full min-w-72 table-fixed text-sm">
        <caption className="px-4 pt-3 pb-1 text-left font-serif text-base">{title}</caption>
        <thead>
          <tr className="text-left text-[0.8125rem] text-quiet">
            <th scope="col" className="py-1.5 pr-2 pl-4 font-normal">
              <span className="sr-only">Name</span>
            </th>
            <th scope="col" className="w-14 px-2 py-1.5 text-right font-normal">
              Calls
            </th>
            <th scope="col" className="w-15 px-2 py-1.5 text-right font-normal">
              Tokens
            </th>
            <th scope="col" className="w-24 py-1.5 sm:w-26 pr-4 pl-2 text-right font-normal">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {ranked.map((row) => (
            <tr key={row.name} className="border-t border-line">
              <th scope="row" className="py-2 pr-2 pl-4 text-left font-normal">
                {onChoose && typeof row.value === 'string' ? (
                  <button
                    type="button"
                    aria-pressed={chosen === row.value}
                    title={chosen === row.value ? 'Clear filter' : `Show only ${row.name}`}
                    onClick={() => onChoose(row.value!)}
                    className="text-left hover:underline aria-pressed:font-medium aria-pressed:underline"
                  >
                    <Name>{row.name}</Name>
                  </button>
                ) : (
                  <Name>{row.name}</Name>
                )}
                <span aria-hidden="true" className="mt-1 block h-1 bg-sunk forced-color-adjust-none">
                  <span className="block h-full bg-ai" style={{ width: `${sum === 0 ? 0 : (of(row) / sum) * 100}%` }} />
                </span>
              </th>
              <td className="px-2 py-2 text-right align-top">{short(row.calls)}</td>
              <td className="px-2 py-2 text-right align-top">{short(row.usage.total_tokens)}</td>
              <td className="py-2 pr-4 pl-2 text-right align-top">
                {row.unpriced_calls === row.calls ? <span title="Price unknown">—</span> : usd(row.cost_usd)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
