import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { TextField } from '../../ui/field.tsx'
import { Empty, Failure, Waiting } from '../../ui/notice.tsx'
import { DeveloperPage } from '../frame.tsx'
import { type Operation, operationsQuery } from './operations.ts'
import { Trial } from './trial.tsx'

export function Playground() {
  const { op } = useSearch({ from: '/shell/developer/playground' })
  const { data: operations, error, refetch } = useQuery(operationsQuery)
  const shown = operations?.find(({ id }) => id === op)
  return (
    <DeveloperPage
      title="Playground"
      lead="Send real requests as yourself. Each request is also shown for curl, TypeScript and the uk CLI."
    >
      {error && !operations ? (
        <Failure what="The endpoints" error={error} again={refetch} />
      ) : !operations ? (
        <Waiting what="the endpoints" rows={5} />
      ) : (
        <div className="grid items-start gap-x-8 gap-y-6 lg:grid-cols-[17rem_minmax(0,1fr)]">
          <Endpoints operations={operations} shown={shown} />
          {shown ? (
            <Trial key={shown.id} operation={shown} />
          ) : (
            <Empty title="Pick an endpoint">
              Search {operations.length} endpoints by name, path or description. Requests are real and act with your
              permissions. Responses aren’t saved.
            </Empty>
          )}
        </div>
      )}
    </DeveloperPage>
  )
}

function Endpoints({ operations, shown }: { operations: readonly Operation[]; shown: Operation | undefined }) {
  const [words, setWords] = useState('')
  const needle = words.trim().toLowerCase()
  const matches = operations.filter(({ id, summary, path, method, area }) =>
    needle.split(/\s+/).every((word) => `${area} ${summary} ${method} ${path} ${id}`.toLowerCase().includes(word)),
  )
  const areas = [...Map.groupBy(matches, ({ area }) => area)]
  return (
    <div className="min-w-0 lg:sticky lg:top-6">
      <TextField
        label="Search endpoints"
        type="search"
        value={words}
        onValue={setWords}
        placeholder="send a message"
        autoComplete="off"
      />
      <nav
        aria-label="Endpoints"
        className="mt-3 max-h-64 divide-y divide-line overflow-y-auto border border-line border-t-keyline bg-sheet lg:max-h-[calc(100dvh-14rem)]"
      >
        {areas.length === 0 && <p className="px-3 py-3 text-sm text-quiet">No matching endpoints.</p>}
        {areas.map(([area, ofArea]) => (
          <details key={`${area} ${needle !== ''}`} open={needle !== '' || shown?.area === area}>
            <summary className="px-3 py-2 text-sm font-medium">{area}</summary>
            <ul className="pb-2">
              {ofArea.map(({ id, summary, method }) => (
                <li key={id}>
                  <Link
                    to="/developer/playground"
                    search={{ op: id }}
                    resetScroll={false}
                    aria-current={id === shown?.id ? 'page' : undefined}
                    className="flex items-baseline gap-2 px-3 py-1 text-[0.8125rem] text-quiet hover:bg-sunk hover:text-ink aria-[current=page]:bg-ai-wash aria-[current=page]:text-ink"
                  >
                    <span className="w-11 shrink-0 font-mono text-xs">{method === 'DELETE' ? 'DEL' : method}</span>
                    {summary}
                  </Link>
                </li>
              ))}
            </ul>
          </details>
        ))}
      </nav>
    </div>
  )
}
