import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useId } from 'react'
import { uk } from '../../shared/api.ts'
import { Failure } from '../../ui/notice.tsx'
import { visible } from '../../ui/text/visible.ts'
import { Icon } from '../../ui/icons.tsx'
import { plural } from '../../ui/text/format.ts'
import { FileName } from '../list/file-name.tsx'
import { iconOf } from '../list/kinds.ts'
import type { DriveFile } from '../../shared/drive/files.ts'
import { byFile, globFor, piecesOf } from './find.ts'

export interface Within {
  /** Null: a guest searches what was shared with them. */
  workspaceId: string | null
  of: string
  path: string | null
  name: string
}

const scope = ({ workspaceId, path }: Within) => ({
  ...(workspaceId !== null && { workspace_id: workspaceId }),
  ...(path !== null && { path }),
})

function useResults(words: string, regex: boolean, within: Within) {
  const key = [words, within.workspaceId, within.path]
  const byName = useQuery({
    queryKey: ['drive', 'named', ...key],
    queryFn: async () =>
      (
        await uk.drive.glob({
          ...scope(within),
          pattern: globFor(words),
          type: 'any',
          case: 'insensitive',
          limit: 50,
        })
      ).rows,
    placeholderData: keepPreviousData,
    enabled: !regex,
  })
  const lines = useQuery({
    queryKey: ['drive', 'lines found', regex, ...key],
    queryFn: async () => {
      const { rows, next, extra } = await uk.drive.grep({
        ...scope(within),
        pattern: words,
        fixed: !regex,
        case: 'smart',
        limit: 100,
      })
      return { rows, next, skipped: ((extra?.['skipped_files'] ?? []) as unknown[]).length }
    },
    placeholderData: keepPreviousData,
  })
  return { byName, lines }
}

export function Found({ words, regex, within }: { words: string; regex: boolean; within: Within }) {
  const { byName, lines } = useResults(words, regex, within)
  const files = (byName.data ?? []).filter((file) => file.workspace_id === within.of)
  const rows = (lines.data?.rows ?? []).filter((row) => row.workspace_id === within.of)
  const busy = byName.isFetching || lines.isFetching
  return (
    <div
      aria-busy={busy}
      className={`min-h-0 flex-1 overflow-y-auto px-3 py-4 sm:px-4 ${busy ? 'opacity-70' : ''}`}
      tabIndex={0}
      role="region"
      aria-label={`Results in ${within.name}`}
    >
      {!regex && (
        <Group
          title="Names"
          count={byName.data ? plural(files.length, 'name') : null}
          what="The names"
          error={byName.error}
          again={byName.refetch}
        >
          <ul aria-label="Names" className="divide-y divide-line border border-line bg-sheet empty:hidden">
            {files.map((file) => (
              <NameRow key={file.id} file={file} />
            ))}
          </ul>
        </Group>
      )}
      <Group
        title="In files"
        count={lines.data ? `${plural(rows.length, 'line')}${lines.data.next === null ? '' : ' or more'}` : null}
        what="The lines"
        error={lines.error}
        again={lines.refetch}
      >
        {byFile(rows).map(({ fileId, path, lines: of }) => (
          <section key={fileId} aria-label={path} className="mb-3 border border-line bg-sheet">
            <h3 className="truncate border-b border-line bg-sunk/60 px-3 py-1.5 text-sm">{visible(path)}</h3>
            <ul>
              {of.map(({ line, text }) => (
                <li key={line} className="flex font-mono text-[0.8125rem] leading-6 hover:bg-sunk/60">
                  <Link
                    to="/drive/file/$id"
                    params={{ id: fileId }}
                    search={{ line: line! }}
                    className="flex min-w-0 flex-1"
                  >
                    <span className="figures w-14 shrink-0 pr-3 text-right text-quiet">{line}</span>
                    <span className="truncate pr-3 whitespace-pre">
                      {piecesOf(text ?? '', regex ? null : words).map(({ text: piece, hit }, at) =>
                        hit ? (
                          <mark key={at} className="bg-ochre/25 text-ink">
                            {piece}
                          </mark>
                        ) : (
                          visible(piece)
                        ),
                      )}
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        ))}
        {lines.data && lines.data.skipped > 0 && (
          <p className="text-[0.8125rem] text-quiet">
            {plural(lines.data.skipped, 'file')} couldn’t be searched: not text, too large, or not indexed yet.
          </p>
        )}
      </Group>
    </div>
  )
}

function Group({
  title,
  count,
  what,
  error,
  again,
  children,
}: {
  title: string
  count: string | null
  what: string
  error: unknown
  again: () => unknown
  children: ReactNode
}) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="mb-6">
      <h2 id={id} className="mb-2 font-serif text-lg">
        {title}{' '}
        <span role="status" className="figures font-sans text-[0.8125rem] text-quiet">
          {count}
        </span>
      </h2>
      {error ? <Failure what={what} error={error} again={again} /> : children}
    </section>
  )
}

function NameRow({ file }: { file: DriveFile }) {
  const above = file.path.slice(0, -file.name.length - 1)
  return (
    <li className="flex items-center gap-2.5 px-3 py-2 text-sm">
      <Icon name={iconOf(file)} className="size-4 text-quiet" />
      <FileName file={file} />
      <span className="ml-auto truncate text-[0.8125rem] text-quiet">{visible(above)}</span>
    </li>
  )
}
