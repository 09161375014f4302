import { useMemo } from 'react'
import { visible } from '../../ui/text/visible.ts'
import { hunksOf } from './lines.ts'

const looks = {
  same: '',
  added: 'bg-moss/15',
  removed: 'bg-seal/15',
} as const
const signs = { same: ' ', added: '+', removed: '−' } as const
const MAX_LINES = 5_000

export function DiffView({ before, after, label }: { before: string; after: string; label: string }) {
  const hunks = useMemo(() => hunksOf(before, after), [before, after])
  if (hunks === null)
    return <p className="px-3 py-3 text-sm text-quiet">These versions are too different to compare line by line.</p>
  if (hunks.length === 0) return <p className="px-3 py-3 text-sm text-quiet">No changes.</p>
  let linesLeft = MAX_LINES
  return (
    <div
      role="region"
      aria-label={label}
      tabIndex={0}
      className="min-h-0 flex-1 overflow-auto font-mono text-[0.8125rem] leading-6"
    >
      <table className="w-full border-collapse">
        <thead className="sr-only">
          <tr>
            <th scope="col">Old line</th>
            <th scope="col">New line</th>
            <th scope="col">Change</th>
            <th scope="col">Text</th>
          </tr>
        </thead>
        {hunks.map(({ at, lines }) => {
          const shown = lines.slice(0, Math.max(0, linesLeft))
          linesLeft -= lines.length
          return (
            <tbody key={at} className="border-t border-line first:border-0">
              {shown.map((line, row) => (
                <tr key={row} className={looks[line.is]}>
                  <td className="figures w-10 px-1.5 text-right text-quiet select-none">{line.before}</td>
                  <td className="figures w-10 px-1.5 text-right text-quiet select-none">{line.after}</td>
                  <td className="w-4 select-none">{signs[line.is]}</td>
                  <td className="pr-3 break-all whitespace-pre-wrap">{visible(line.text)}</td>
                </tr>
              ))}
            </tbody>
          )
        })}
      </table>
    </div>
  )
}
