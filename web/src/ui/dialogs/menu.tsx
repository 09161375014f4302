import { Menu as Base } from '@base-ui/react/menu'
import type { ReactNode } from 'react'
import { buttonClass } from '../button.tsx'
import { Icon } from '../icons.tsx'

export interface Action {
  label: string
  run: () => void
  danger?: boolean
  disabled?: boolean
}

const popup =
  'max-h-[min(28rem,70dvh)] min-w-44 overflow-y-auto overscroll-contain border border-keyline bg-sheet py-1 shadow-[0_12px_32px_-12px_rgb(8_14_22/.4)] outline-none transition-opacity duration-100 data-ending-style:opacity-0 data-starting-style:opacity-0'
const item =
  'flex w-full cursor-default items-center gap-2 px-3 py-2 text-sm outline-none select-none data-disabled:opacity-50 data-highlighted:bg-ai-wash'

/** The other things that can be done with a row. `label` names the row too. */
export function Actions({
  label,
  actions,
  trigger,
}: {
  label: string
  actions: readonly Action[]
  trigger?: ReactNode
}) {
  return (
    <Base.Root>
      <Base.Trigger aria-label={label} className={trigger ? buttonClass('quiet') : buttonClass('quiet', true)}>
        {trigger ?? <Icon name="more" />}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner align="end" sideOffset={4} className="z-30 outline-none">
          <Base.Popup className={popup}>
            {actions.map(({ label: words, run, danger, disabled = false }, at) => (
              <Base.Item
                key={`${at} ${words}`}
                onClick={run}
                disabled={disabled}
                className={`${item} ${danger ? 'text-seal' : ''}`}
              >
                {words}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
