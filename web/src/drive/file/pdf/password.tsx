import { useEffect, useRef, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { TextField } from '../../../ui/field.tsx'
import type { AskedPassword } from './open-pdf.ts'

export function Password({ name, asked }: { name: string; asked: AskedPassword }) {
  const [typed, setTyped] = useState('')
  /** The last request answered; a new request is a new object. */
  const [answered, setAnswered] = useState<AskedPassword | null>(null)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current!.querySelector('input')!.select(), [asked])
  const isOpening = answered === asked
  return (
    <div className="flex flex-1 items-center justify-center p-6">
      <form
        ref={form}
        aria-label={`Password of ${name}`}
        className="w-full max-w-sm border border-line bg-sheet px-8 py-8"
        onSubmit={(event) => {
          event.preventDefault()
          if (isOpening || typed === '') return
          setAnswered(asked)
          asked.answer(typed)
        }}
      >
        <h2 className="font-serif text-lg">This PDF is locked</h2>
        <p className="mt-1 mb-4 text-sm text-quiet">The password is only used in this browser and isn’t stored.</p>
        <TextField
          label="Password"
          type="password"
          autoComplete="off"
          value={typed}
          onValue={setTyped}
          error={asked.wrong && !isOpening ? 'Wrong password.' : null}
        />
        <Button look="primary" type="submit" className="mt-4" pending={isOpening}>
          Unlock PDF
        </Button>
      </form>
    </div>
  )
}
