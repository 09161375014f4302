import { Menu as Base } from '@base-ui/react/menu'
import { Icon } from '../icons.tsx'
import { type ActionsProps, triggerClass } from './actions.ts'

const popup =
  'max-h-[min(28rem,70dvh)] min-w-44 overflow-y-auto overscroll-contain border border-keyline bg-sheet py-1 shadow-[0_12px_32px_-12px_rgb(8_14_22/.4)] outline-none transition-opacity duration-100 data-ending-style:opacity-0 data-starting-style:opacity-0'
const item =
  'flex w-full cursor-default items-center gap-2 px-3 py-2 text-sm outline-none select-none data-disabled:opacity-50 data-highlighted:bg-ai-wash'

export default function MenuList({ label, actions, trigger, tabIndex }: ActionsProps) {
  return (
    <Base.Root defaultOpen>
      <Base.Trigger aria-label={label} {...(tabIndex !== undefined && { tabIndex })} className={triggerClass(trigger)}>
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
