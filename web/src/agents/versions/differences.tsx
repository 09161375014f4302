import type { Change } from './changes.ts'
import { type DiffLine, diffLines } from './lines.ts'

/** Context lines around a change. */
const AROUND = 2

/** The changes by field. Lines have a sign in addition to the color. */
export function Differences({ changes, none }: { changes: readonly Change[]; none: string }) {
  if (changes.length === 0) return <p className="text-sm text-quiet">{none}</p>
  return (
    <dl className="mt-1 space-y-2">
      {changes.map((change) => (
        <div key={change.part}>
          <dt className="text-[0.8125rem] text-quiet">{change.part}</dt>
          <dd className="mt-0.5 overflow-hidden border border-line bg-paper font-mono text-[0.8125rem] leading-relaxed">
            {change.kind === 'list' ? (
              <>
                {change.gone.map((text) => (
                  <Line key={`- ${text}`} line={{ kind: 'gone', text }} />
                ))}
                {change.added.map((text) => (
                  <Line key={`+ ${text}`} line={{ kind: 'new', text }} />
                ))}
              </>
            ) : (
              folded(diffLines(change.before, change.after)).map((line, at) =>
                line === null ? (
                  <p key={at} className="border-y border-line px-3 text-quiet select-none">
                    …
                  </p>
                ) : (
                  <Line key={at} line={line} />
                ),
              )
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const looks = { same: '', gone: 'bg-seal/14', new: 'bg-moss/16' } as const
const signs = { same: '\u00a0', gone: '−', new: '+' } as const
const says = { same: '', gone: 'removed: ', new: 'added: ' } as const

function Line({ line: { kind, text } }: { line: DiffLine }) {
  return (
    <p className={`flex px-3 ${looks[kind]}`}>
      <span aria-hidden="true" className="w-5 shrink-0 select-none">
        {signs[kind]}
      </span>
      <span className="min-w-0 whitespace-pre-wrap [overflow-wrap:anywhere]">
        {says[kind] && <span className="sr-only">{says[kind]}</span>}
        {text || '\u00a0'}
      </span>
    </p>
  )
}

/** Collapses long unchanged stretches (null). */
function folded(lines: readonly DiffLine[]): (DiffLine | null)[] {
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== 'same'),
  )
  return lines.flatMap((line, at) => (near[at] ? [line] : at === 0 || near[at - 1] ? [null] : []))
}
