import { useEffect, useRef, useState } from 'react'
import { Button, IconButton } from '../../ui/button.tsx'

export function FindBar({
  found,
  onFind,
  onClose,
}: {
  found: boolean
  onFind: (words: string, back: boolean) => void
  onClose: () => void
}) {
  const [words, setWords] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  return (
    <form
      role="search"
      className="flex flex-wrap items-center gap-2 border-b border-line bg-sunk px-3 py-1.5"
      onSubmit={(event) => {
        event.preventDefault()
        onFind(words, true)
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose()
      }}
    >
      <input
        ref={field}
        type="search"
        aria-label="Find in terminal"
        placeholder="Find in terminal"
        value={words}
        onChange={(event) => {
          setWords(event.target.value)
          onFind(event.target.value, true)
        }}
        className="field min-h-8! max-w-64 flex-1 py-0.5!"
      />
      <Button type="submit" className="h-8!">
        Previous
      </Button>
      <Button className="h-8!" onClick={() => onFind(words, false)}>
        Next
      </Button>
      <span role="status" className="text-[0.8125rem] text-quiet">
        {words !== '' && !found && 'No results'}
      </span>
      <IconButton label="Close find" icon="close" className="ml-auto size-8!" onClick={onClose} />
    </form>
  )
}
