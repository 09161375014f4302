import { type ReactNode, useEffect } from 'react'
import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'
import type { Send } from '../ui/calls/send.ts'

interface Props {
  title: string
  about: ReactNode
  sending: Pick<Send<never, unknown>, 'pending' | 'rest' | 'form'>
  fields: readonly string[]
  verb: string
  onSend: () => void
  children: ReactNode
  after?: ReactNode
}

export function EntryForm({ title, about, sending, fields, verb, onSend, children, after }: Props) {
  const { pending, rest, form } = sending
  useEffect(() => {
    document.title = `${title} · Ukiyo`
  }, [title])
  return (
    <form
      ref={form}
      noValidate
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault()
        onSend()
      }}
    >
      <div className="mb-6">
        <h1 className="font-serif text-3xl leading-tight">{title}</h1>
        <div className="mt-1 space-y-1 text-quiet">{about}</div>
      </div>
      <Refused>{rest(...fields)}</Refused>
      {children}
      <Button type="submit" look="primary" className="w-full" pending={pending}>
        {verb}
      </Button>
      {after}
    </form>
  )
}
