import { Actions } from '../../ui/dialogs/menu.tsx'
import { SIZES, useWish, wishFor } from './wish.ts'

/** How terminals look on this device, and the shortcuts by which they are used. */
export function LookMenu({ onFind }: { onFind: () => void }) {
  const { fontSize, screenReader } = useWish()
  const at = SIZES.findIndex((one) => one === fontSize)
  const bigger = SIZES[at + 1]
  const smaller = SIZES[at - 1]
  return (
    <Actions
      label="How terminals look"
      actions={[
        { label: 'Find (Ctrl Shift F)', run: onFind },
        {
          label: 'Larger letters',
          run: () => wishFor({ fontSize: bigger ?? fontSize }),
          disabled: bigger === undefined,
        },
        {
          label: 'Smaller letters',
          run: () => wishFor({ fontSize: smaller ?? fontSize }),
          disabled: smaller === undefined,
        },
        {
          label: screenReader ? 'Not for a screen reader' : 'For a screen reader',
          run: () => wishFor({ screenReader: !screenReader }),
        },
      ]}
    />
  )
}
