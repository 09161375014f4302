import { Icon } from '../../ui/icons.tsx'

export interface PickerProps {
  model: string | null
  /** The model that answers while none is chosen. */
  byServer?: string | null
  onModel: (model: string) => void
}

export const pickerClass =
  'flex h-9 min-w-0 items-center gap-1.5 rounded-xs px-2.5 text-sm text-quiet hover:bg-sunk hover:text-ink'

export const Picked = ({ model, byServer = null }: Pick<PickerProps, 'model' | 'byServer'>) => (
  <>
    <span className="flex min-w-0 max-sm:flex-col max-sm:text-left max-sm:leading-tight">
      <span className="truncate">
        <span className="sr-only">Model: </span>
        {model ?? byServer ?? 'Choose a model'}
      </span>
      {model === null && byServer !== null && (
        <span className="shrink-0 whitespace-pre max-sm:text-xs">
          <span className="max-sm:sr-only"> · </span>
          chosen by the server
        </span>
      )}
    </span>
    <Icon name="chevron" className="size-3.5" />
  </>
)
