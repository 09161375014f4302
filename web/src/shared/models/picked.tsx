import { Icon } from '../../ui/icons.tsx'

export interface PickerProps {
  model: string | null
  byServer?: string | null
  onModel: (model: string) => void
}

export const pickerClass =
  'flex h-9 min-w-0 items-center gap-1 rounded-xs px-1.5 sm:gap-1.5 sm:px-2.5 text-sm text-quiet hover:bg-sunk hover:text-ink'

export const Picked = ({ model, byServer = null }: Pick<PickerProps, 'model' | 'byServer'>) => (
  <>
    <span className="flex min-w-0 max-sm:flex-col max-sm:text-left max-sm:leading-tight">
      <span className="truncate">
        <span className="sr-only">Model: </span>
        {model ?? byServer ?? 'Choose a model'}
      </span>
      {model === null && byServer !== null && (
        <span className="whitespace-pre max-sm:truncate max-sm:text-xs sm:shrink-0">
          <span className="max-sm:sr-only"> · </span>server default
        </span>
      )}
    </span>
    <Icon name="chevron" className="size-3.5 shrink-0" />
  </>
)
