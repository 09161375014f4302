import type { ReactNode } from 'react'
import { Button } from '../button.tsx'
import { Copy } from '../copy.tsx'
import { Dialog } from './dialog.tsx'
import type { OpenState } from './dialog-props.ts'

/** Shows a secret that can't be shown again. Only confirming that it is stored closes the dialog. */
export function ShownOnce({
  open,
  onOpen,
  title,
  about,
  what,
  value,
  children,
}: OpenState & {
  title: string
  about: string
  what: 'key' | 'secret'
  value: string
  children: ReactNode
}) {
  return (
    <Dialog
      open={open}
      onOpen={onOpen}
      wide
      insistent
      title={title}
      about={about}
      footer={
        <Button look="primary" onClick={() => onOpen(false)}>
          I’ve stored it
        </Button>
      }
    >
      <div className="flex flex-wrap items-center gap-3 border border-seal/50 bg-seal-wash px-3 py-3">
        <code data-testid={what} className="min-w-0 flex-1 basis-60 font-mono text-sm break-all select-all">
          {value}
        </code>
        <Copy text={value} label={`Copy ${what}`} look="primary" />
      </div>
      {children}
    </Dialog>
  )
}
