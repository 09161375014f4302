import { buttonClass } from '../../../ui/button.tsx'
import type { Message } from '../queries.ts'

export function BranchSwitch({
  message,
  siblings,
  onShow,
}: {
  message: Message
  siblings: readonly Message[]
  onShow: (sibling: Message) => void
}) {
  if (siblings.length < 2) return null
  const at = siblings.findIndex(({ id }) => id === message.id)
  // A new message that isn't in the rows yet.
  if (at === -1) return null
  const step = (by: -1 | 1, label: string, sign: string) => {
    const to = siblings[at + by]
    return (
      <button
        type="button"
        aria-label={label}
        title={label}
        disabled={to === undefined}
        onClick={() => to && onShow(to)}
        className={buttonClass('quiet', true)}
      >
        <span aria-hidden="true">{sign}</span>
      </button>
    )
  }
  return (
    <div role="group" aria-label="Branches" className="figures flex items-center text-sm text-quiet">
      {step(-1, 'Previous branch', '‹')}
      <span>
        {at + 1}/{siblings.length}
      </span>
      {step(1, 'Next branch', '›')}
    </div>
  )
}
