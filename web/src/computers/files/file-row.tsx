import { Link } from '@tanstack/react-router'
import { Actions } from '../../ui/dialogs/menu.tsx'
import { Ago } from '../../ui/text/time.tsx'
import { size, type Standing } from '../words.ts'
import { MAX_EDITED, type Row, downloadOf } from './queries.ts'

export type FileAction = 'edit' | 'rename' | 'remove' | 'to-drive'

export function FileRow({
  computerId,
  row,
  writes,
  runs,
  onAction,
}: {
  computerId: string
  row: Row
  writes: Standing
  runs: Standing
  onAction: (action: FileAction) => void
}) {
  const { name, path, type, size_bytes, modified_at, target, owner } = row
  const edited = type === 'file' && size_bytes <= MAX_EDITED
  const words = 'link min-w-0 text-left break-all'
  return (
    <li className="flex items-center gap-x-4 px-4 py-2 text-sm">
      <span aria-hidden="true" className="w-4 shrink-0 text-center text-quiet">
        {{ folder: '▸', file: '·', symlink: '↪', other: '◦' }[type]}
      </span>
      <div className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-3">
        {type === 'folder' ? (
          <Link
            to="/computers/$id/$part"
            params={{ id: computerId, part: 'files' }}
            search={{ path }}
            className={`${words} font-medium`}
          >
            {name}
          </Link>
        ) : edited ? (
          <button type="button" onClick={() => onAction('edit')} className={words}>
            {name}
          </button>
        ) : (
          <span className="min-w-0 break-all">{name}</span>
        )}
        {type === 'symlink' && <span className="font-mono text-[0.8125rem] break-all text-quiet">→ {target}</span>}
      </div>
      <span className="figures hidden w-20 text-right text-quiet sm:block">{type === 'file' && size(size_bytes)}</span>
      <span className="hidden w-20 truncate text-quiet md:block">{owner}</span>
      <span className="hidden w-28 text-quiet sm:block">
        <Ago time={modified_at} />
      </span>
      <Actions
        label={`More actions for ${name}`}
        actions={[
          ...(type === 'file' || type === 'folder'
            ? [
                {
                  label: type === 'folder' ? 'Download as ZIP' : 'Download',
                  run: () => location.assign(downloadOf(computerId, row)),
                },
              ]
            : []),
          ...(edited ? [{ label: writes.ready ? 'Edit' : 'View', run: () => onAction('edit') }] : []),
          ...(type === 'file' ? [{ label: 'Copy to drive …', run: () => onAction('to-drive') }] : []),
          ...(writes.ready
            ? [
                {
                  label: runs.ready ? 'Rename' : 'Rename (requires Commands)',
                  run: () => onAction('rename'),
                  disabled: !runs.ready,
                },
                { label: 'Delete', run: () => onAction('remove'), danger: true },
              ]
            : []),
        ]}
      />
    </li>
  )
}
