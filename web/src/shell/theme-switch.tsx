import { useId } from 'react'
import { Icon, type IconName } from '../ui/icons.tsx'
import { type Theme, saveTheme, useTheme } from './theme.ts'

const themes: [Theme, string, IconName][] = [
  ['system', 'System', 'half'],
  ['light', 'Light', 'sun'],
  ['dark', 'Dark', 'moon'],
]

/** `upright`: stacked vertically in the narrow rail. */
export function ThemeSwitch({ upright }: { upright: boolean }) {
  const theme = useTheme()
  // The rail and the drawer can both be mounted; radios with the same name form one group.
  const group = useId()
  return (
    <fieldset
      className={`flex rounded-xs border border-line ${upright ? 'flex-col wide:group-data-[rail=wide]/rail:flex-row' : ''}`}
    >
      <legend className="sr-only">Theme</legend>
      {themes.map(([value, label, icon]) => (
        <label
          key={value}
          title={label}
          className="flex min-h-8 flex-1 items-center justify-center text-quiet hover:text-ink has-checked:bg-sheet has-checked:text-ink has-focus-visible:outline-2 has-focus-visible:outline-ai"
        >
          <input
            type="radio"
            name={group}
            className="sr-only"
            value={value}
            checked={theme === value}
            onChange={() => saveTheme(value)}
          />
          <Icon name={icon} />
          <span className="sr-only">{label}</span>
        </label>
      ))}
    </fieldset>
  )
}
