import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog as Base } from '@base-ui/react/dialog'
import { useQueryClient } from '@tanstack/react-query'
import { useMemo, useRef, useState } from 'react'
import { useUnsavedWords } from '../typing/unsaved.ts'
import { Button, buttonClass } from '../button.tsx'
import { Icon } from '../icons.tsx'
import { Refused } from '../notice.tsx'
import { useSend } from '../calls/send.ts'
import type { ConfirmProps, DialogProps } from './dialog-props.ts'
import { useTyped } from './typed.ts'
import { UnreadBar } from './unread-bar.tsx'
import { isLostWith, useLeaving } from './leaving.ts'

const backdrop =
  'fixed inset-0 z-40 bg-[#0b1017]/45 transition-opacity duration-200 data-ending-style:opacity-0 data-starting-style:opacity-0'
const popup =
  'fixed z-50 flex max-h-[100dvh] w-full flex-col border-keyline bg-paper shadow-[0_24px_60px_-20px_rgb(8_14_22/.45)] outline-none transition-[opacity,translate] duration-200 ease-brush max-sm:inset-x-0 max-sm:bottom-0 max-sm:max-h-[94dvh] max-sm:border-t sm:top-[max(2rem,8dvh)] sm:left-1/2 sm:max-h-[84dvh] sm:-translate-x-1/2 sm:border data-ending-style:translate-y-2 data-ending-style:opacity-0 data-starting-style:translate-y-2 data-starting-style:opacity-0'

export function DialogFrame({
  open,
  onOpen,
  title,
  about,
  wide,
  insistent = false,
  keeps = false,
  children,
  footer,
}: DialogProps) {
  const body = useRef<HTMLDivElement>(null)
  const [asking, setAsking] = useState(false)
  const { isUnsaved, forget } = useTyped(body, open && !keeps)
  // Focuses the first field; not on touch devices, where the keyboard would cover it.
  const first = (how: string) =>
    (how === 'touch' ? null : body.current?.querySelector<HTMLElement>('input, select, textarea, button')) ?? true
  return (
    <Base.Root
      open={open}
      disablePointerDismissal
      onOpenChange={(next, { reason }) => {
        if (!next && insistent && reason === 'escape-key') return
        if (!next && isUnsaved()) setAsking(true)
        else onOpen(next)
      }}
    >
      <Base.Portal>
        <Base.Backdrop className={backdrop} />
        <Base.Popup initialFocus={first} className={`${popup} ${wide ? 'sm:max-w-3xl' : 'sm:max-w-lg'}`}>
          <header className="relative shrink-0 border-b border-line px-5 pt-4 pb-3">
            <div aria-hidden="true" className="bokashi absolute inset-x-0 top-0 h-6" />
            <Base.Title className="relative pr-10 font-serif text-xl leading-tight">{title}</Base.Title>
            {about && <Base.Description className="relative mt-1 pr-6 text-sm text-quiet">{about}</Base.Description>}
            {!insistent && (
              <Base.Close aria-label="Close" className={`${buttonClass('quiet', true)} absolute top-2.5 right-3`}>
                <Icon name="close" />
              </Base.Close>
            )}
          </header>
          <UnreadBar />
          <div ref={body} className="min-h-0 flex-1 overflow-y-auto overscroll-contain px-5 py-4">
            {children}
          </div>
          {footer && (
            <footer
              className="flex shrink-0 flex-wrap justify-end gap-2 border-t border-line bg-sunk/60 px-5 py-3"
              onClickCapture={({ target }) => {
                // Cancel discards without asking.
                if (target instanceof Element && target.closest('[data-cancel]')) forget()
              }}
            >
              {footer}
            </footer>
          )}
          <ConfirmFrame
            title="Close without saving?"
            verb="Close"
            back="Keep editing"
            run={async () => {
              forget()
              onOpen(false)
            }}
            open={asking}
            onOpen={setAsking}
          >
            Your changes aren’t saved.
          </ConfirmFrame>
          {open && <Leaving isUnsaved={isUnsaved} />}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

function Leaving({ isUnsaved }: { isUnsaved: () => boolean }) {
  const client = useQueryClient()
  useUnsavedWords(isUnsaved)
  return (
    <ConfirmFrame
      {...useLeaving(
        useMemo(() => isLostWith(client, isUnsaved), [client, isUnsaved]),
        true,
      )}
    />
  )
}

export function ConfirmFrame({ title, children, verb, back = 'Cancel', run, open, onOpen }: ConfirmProps) {
  const { send, pending, rest, reset } = useSend(run, () => onOpen(false))
  return (
    <AlertDialog.Root
      open={open}
      onOpenChange={(next) => {
        if (next) reset()
        onOpen(next)
      }}
    >
      <AlertDialog.Portal>
        <AlertDialog.Backdrop forceRender className={backdrop} />
        <AlertDialog.Popup className={`${popup} sm:max-w-md`}>
          <div className="px-5 pt-5 pb-4">
            <AlertDialog.Title className="font-serif text-xl leading-tight">{title}</AlertDialog.Title>
            <AlertDialog.Description render={<div />} className="mt-2 space-y-2 text-quiet">
              {children}
            </AlertDialog.Description>
            <div className="mt-3">
              <Refused>{rest()}</Refused>
            </div>
          </div>
          <footer className="flex flex-wrap justify-end gap-2 border-t border-line bg-sunk/60 px-5 py-3">
            <AlertDialog.Close className={buttonClass('plain')}>{back}</AlertDialog.Close>
            <Button look="danger" pending={pending} onClick={() => void send(undefined)}>
              {verb}
            </Button>
          </footer>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
