import { Actions } from '../../ui/dialogs/menu.tsx'
import { SIZES, useTerminalSettings, changeSettings } from './settings.ts'

export function LookMenu({ onFind }: { onFind: () => void }) {
  const { fontSize, screenReader } = useTerminalSettings()
  const at = SIZES.findIndex((one) => one === fontSize)
  const bigger = SIZES[at + 1]
  const smaller = SIZES[at - 1]
  return (
    <Actions
      label="Terminal settings"
      actions={[
        { label: 'Find (Ctrl Shift F)', run: onFind },
        {
          label: 'Increase font size',
          run: () => changeSettings({ fontSize: bigger ?? fontSize }),
          disabled: bigger === undefined,
        },
        {
          label: 'Decrease font size',
          run: () => changeSettings({ fontSize: smaller ?? fontSize }),
          disabled: smaller === undefined,
        },
        {
          label: screenReader ? 'Turn off screen reader mode' : 'Turn on screen reader mode',
          run: () => changeSettings({ screenReader: !screenReader }),
        },
      ]}
    />
  )
}
