import type { ReactNode } from 'react'
import { Button } from '../button.tsx'
import { Copy } from '../copy.tsx'
import { Dialog } from './dialog.tsx'
import type { Opened } from './dialog-props.ts'

/** A key or secret, at the only moment at which it can be read: nothing but saying that it is stored closes it. */
export function ShownOnce({
  open,
  onOpen,
  title,
  about,
  what,
  value,
  children,
}: Opened & {
  title: string
  about: string
  what: 'key' | 'secret'
  value: string
  /** How the secret is used. */
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
          I have stored it
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
