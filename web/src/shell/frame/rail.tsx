import { deviceSetting, useDeviceSetting } from '../../shared/device-setting.ts'
import { Icon } from '../../ui/icons.tsx'
import { AccountCorner } from '../account.tsx'
import { Nav, inRail } from '../nav.tsx'
import { openPalette } from '../palette/open.ts'
import { commandKey } from '../shortcuts/keys.ts'
import { Switcher } from './switcher.tsx'

const narrow = deviceSetting('ukiyo.rail')

export function Rail() {
  const isNarrow = useDeviceSetting(narrow) === 'narrow'
  return (
    <aside
      data-rail={isNarrow ? 'narrow' : 'wide'}
      className="group/rail sticky top-0 hidden h-dvh w-14 flex-col gap-3 overflow-y-auto border-r border-line px-1.5 pt-2 pb-3 rail:flex wide:data-[rail=wide]:w-58 wide:data-[rail=wide]:px-2.5"
    >
      <Switcher words="in-rail" />
      <button
        type="button"
        aria-keyshortcuts="Control+K Meta+K"
        title={`Search or run a command (${commandKey} K)`}
        onClick={openPalette}
        className="flex min-h-8 items-center gap-2.5 rounded-xs border border-line bg-sheet px-3 text-sm text-quiet hover:border-keyline hover:text-ink pointer-coarse:min-h-11"
      >
        <Icon name="search" />
        <span className={inRail}>Search</span>
        <kbd className="ml-auto hidden font-sans text-xs wide:group-data-[rail=wide]/rail:inline" aria-hidden="true">
          {commandKey} K
        </kbd>
      </button>
      <Nav words="in-rail" />
      <div className="mt-auto">
        <button
          type="button"
          aria-pressed={isNarrow}
          title={isNarrow ? 'Expand sidebar' : 'Collapse sidebar'}
          onClick={() => narrow.set(isNarrow ? null : 'narrow')}
          className="mb-1 hidden min-h-8 w-full items-center gap-2.5 rounded-xs px-3 text-sm text-quiet hover:bg-sunk hover:text-ink wide:flex"
        >
          <Icon name="rail" />
          <span className={inRail}>Collapse sidebar</span>
        </button>
        <AccountCorner words="in-rail" />
      </div>
    </aside>
  )
}
