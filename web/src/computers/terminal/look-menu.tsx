import { Actions } from '../../ui/dialogs/menu.tsx'
import { SIZES, useWish, wishFor } from './wish.ts'

export function LookMenu({ onFind }: { onFind: () => void }) {
  const { fontSize, screenReader } = useWish()
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
          run: () => wishFor({ fontSize: bigger ?? fontSize }),
          disabled: bigger === undefined,
        },
        {
          label: 'Decrease font size',
          run: () => wishFor({ fontSize: smaller ?? fontSize }),
          disabled: smaller === undefined,
        },
        {
          label: screenReader ? 'Turn off screen reader mode' : 'Turn on screen reader mode',
          run: () => wishFor({ screenReader: !screenReader }),
        },
      ]}
    />
  )
}
