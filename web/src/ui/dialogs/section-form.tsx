import type { ReactNode } from 'react'
import type { Send } from '../calls/send.ts'
import { UnsavedWords } from './unsaved.tsx'

/** A form inside a page section. Asks before typed text is lost. */
export function SectionForm({
  sending: { form },
  onSend,
  children,
}: {
  sending: Pick<Send<never, unknown>, 'form'>
  onSend: () => void
  children: ReactNode
}) {
  return (
    <form
      ref={form}
      noValidate
      className="border border-line border-t-keyline bg-sheet px-4 py-4"
      onSubmit={(event) => {
        event.preventDefault()
        onSend()
      }}
    >
      {children}
      <UnsavedWords box={form} />
    </form>
  )
}
