import { type ComponentProps, type ReactNode, useId } from 'react'
import { Button } from '../button.tsx'
import { Dialog } from './dialog.tsx'
import { Refused } from '../notice.tsx'
import type { Send } from '../calls/send.ts'

interface Props extends Pick<ComponentProps<typeof Dialog>, 'open' | 'onOpen' | 'title' | 'about' | 'wide' | 'keeps'> {
  sending: Pick<Send<never, unknown>, 'pending' | 'rest' | 'form'>
  fields: readonly string[]
  verb: string
  onSend: () => void
  children: ReactNode
}

/** A dialog with one form. Errors of other fields appear above its buttons. */
export function FormDialog({ sending: { pending, rest, form }, fields, verb, onSend, children, ...dialog }: Props) {
  const id = useId()
  return (
    <Dialog
      {...dialog}
      footer={
        <>
          <Button data-cancel onClick={() => dialog.onOpen(false)}>
            Cancel
          </Button>
          <Button look="primary" type="submit" form={id} pending={pending}>
            {verb}
          </Button>
        </>
      }
    >
      <form
        id={id}
        ref={form}
        noValidate
        className="space-y-5"
        onSubmit={(event) => {
          event.preventDefault()
          onSend()
        }}
      >
        {children}
        <Refused>{rest(...fields)}</Refused>
      </form>
    </Dialog>
  )
}
