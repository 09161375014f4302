import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { PathLink } from '../shared/path-link.tsx'
import { workspacesQuery } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { Icon } from '../ui/icons.tsx'
import { Empty, Failure, Waiting } from '../ui/notice.tsx'
import { Page, Rows } from '../ui/page.tsx'
import { Ago } from '../ui/text/time.tsx'
import { useWordsInAddress } from '../ui/typing/words-in-address.ts'
import { type Hit, aboutType, pathOf, piecesOf, types } from '../shared/search/hit.ts'
import { Marked } from './marked.tsx'
import { searchQuery } from './queries.ts'
import { type View, toggled, viewIn } from './view.ts'

export function SearchPage() {
  const view = useSearch({ from: '/shell/search' })
  const navigate = useNavigate()
  const go = (next: View): void => void navigate({ to: '/search', search: next, replace: true })
  const [words, setWords] = useWordsInAddress(view.q ?? '', 200, (q) => {
    const { q: _, ...rest } = view
    go(viewIn({ ...rest, q }))
  })
  return (
    <Page title="Search" view={view.q} lead="Chats, messages, files, agents and computers, by text and meaning.">
      <input
        type="search"
        aria-label="Search"
        placeholder="Search"
        autoFocus
        className="field"
        value={words}
        onChange={({ target }) => setWords(target.value)}
      />
      <Filters view={view} onView={go} />
      {view.q === undefined ? (
        <Empty title="Search everything">
          Words match in any form. Use “quotes” for an exact phrase and -word to exclude a word.
        </Empty>
      ) : (
        <Results view={view} />
      )}
    </Page>
  )
}

const chip =
  'inline-flex min-h-8 items-center gap-1.5 rounded-xs border px-2.5 text-sm pointer-coarse:min-h-11 border-line text-quiet hover:border-keyline hover:text-ink aria-pressed:border-ai aria-pressed:bg-ai-wash aria-pressed:text-ink'

function Filters({ view, onView }: { view: View; onView: (view: View) => void }) {
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  return (
    <div className="my-4 flex flex-wrap items-center gap-1.5" role="group" aria-label="Type">
      {types.map(({ type, label }) => {
        const on = view.types?.includes(type) ?? false
        return (
          <button
            key={type}
            type="button"
            aria-pressed={on}
            className={chip}
            onClick={() => onView(toggled(view, type))}
          >
            {on && <Icon name="check" className="size-3.5" />}
            {label}
          </button>
        )
      })}
      {workspaces.length > 1 && (
        <select
          aria-label="Workspace"
          value={view.workspace ?? ''}
          onChange={({ target: { value } }) => {
            const { workspace: _, ...rest } = view
            onView(value === '' ? rest : { ...rest, workspace: value })
          }}
          className={`${chip} max-w-56 bg-paper`}
        >
          <option value="">All workspaces</option>
          {workspaces.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
    </div>
  )
}

function Results({ view }: { view: View }) {
  // Keeps the previous results while new ones load.
  const { data, error, refetch, isPlaceholderData, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    ...searchQuery(view),
    placeholderData: keepPreviousData,
  })
  if (error) return <Failure what="The results" error={error} again={refetch} />
  if (!data) return <Waiting what="the results" />
  const hits = data.pages.flatMap(({ rows }) => rows)
  const degraded = (data.pages[0]?.extra as { degraded?: string[] } | undefined)?.degraded ?? []
  return (
    <div aria-busy={isPlaceholderData} className={isPlaceholderData ? 'opacity-60' : ''}>
      <p role="status" className="mb-2 text-[0.8125rem] text-quiet">
        {hits.length === 0 ? 'No results' : `${hits.length}${hasNextPage ? '+' : ''} results`}
        {degraded.length > 0 && ' Text matches only: no embedding model is available.'}
      </p>
      {hits.length === 0 ? (
        <Empty title="No results">Try fewer words or other filters.</Empty>
      ) : (
        <Rows label="Results">
          {hits.map((hit) => (
            <li key={`${hit.type} ${hit.id}`} className="px-4 py-2.5">
              <Result hit={hit} />
            </li>
          ))}
        </Rows>
      )}
      {hasNextPage && (
        <Button className="mt-3" pending={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
    </div>
  )
}

function Result({ hit }: { hit: Hit }) {
  const { title, snippet, type, updated_at } = hit
  const { one, icon } = aboutType(type)
  return (
    <div className="flex items-start gap-3">
      <Icon name={icon} className="mt-1 size-4 text-quiet" />
      <div className="min-w-0 flex-1">
        <PathLink path={pathOf(hit)} className="[overflow-wrap:anywhere]">
          <Marked pieces={piecesOf(title, hit, 'title')} />
        </PathLink>
        {snippet && (
          <p className="mt-0.5 line-clamp-2 text-sm [overflow-wrap:anywhere] text-quiet">
            <Marked pieces={piecesOf(snippet, hit, 'snippet')} />
          </p>
        )}
      </div>
      <p className="text-right text-[0.8125rem] whitespace-nowrap text-quiet">
        {one}
        <br />
        <Ago time={updated_at} />
      </p>
    </div>
  )
}
