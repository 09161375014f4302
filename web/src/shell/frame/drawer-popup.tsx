import { Dialog } from '@base-ui/react/dialog'
import { buttonClass } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { AccountCorner } from '../account.tsx'
import { Nav } from '../nav.tsx'

export default function DrawerPopup({ onClose }: { onClose: () => void }) {
  return (
    <Dialog.Root open onOpenChange={onClose}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-30 bg-[#0b1017]/45" />
        <Dialog.Popup className="fixed inset-y-0 right-0 z-40 flex w-72 max-w-[86vw] flex-col gap-4 overflow-y-auto border-l border-keyline bg-paper px-3 py-3 outline-none">
          <div className="flex items-center justify-between">
            <Dialog.Title className="px-3 font-serif text-lg">Menu</Dialog.Title>
            <Dialog.Close aria-label="Close" className={buttonClass('quiet', true)}>
              <Icon name="close" />
            </Dialog.Close>
          </div>
          <Nav words="always" onGo={onClose} />
          <div className="mt-auto">
            <AccountCorner words="always" />
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
