import { Icon } from '../../ui/icons.tsx'
import { inRail } from '../nav.tsx'

/** Where labels are shown: everywhere, or only in the wide rail. */
export type Words = 'always' | 'in-rail'

export const switcherClass =
  'flex min-h-10 min-w-0 items-center gap-2.5 rounded-xs px-1.5 text-sm hover:bg-sunk data-popup-open:bg-sunk pointer-coarse:min-h-11'

export const Initial = ({ name }: { name: string }) => (
  <span
    aria-hidden="true"
    className="grid size-7 shrink-0 place-items-center rounded-xs bg-ai font-serif text-sm leading-none text-on-ai"
  >
    {name.trim().charAt(0).toUpperCase() || '·'}
  </span>
)

export const Here = ({ words, name = '' }: { words: Words; name: string | undefined }) => (
  <>
    <Initial name={name} />
    <span className={`min-w-0 flex-1 truncate text-left font-medium ${words === 'always' ? '' : inRail}`}>
      <span className="sr-only">Workspace: </span>
      {name || '…'}
    </span>
    <span className={words === 'always' ? '' : 'hidden wide:group-data-[rail=wide]/rail:inline'}>
      <Icon name="chevron" className="size-3.5 text-quiet" />
    </span>
  </>
)
