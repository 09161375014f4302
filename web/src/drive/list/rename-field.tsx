import { useEffect, useRef, useState } from 'react'
import { sayError } from '../../ui/calls/errors.ts'
import { rename } from '../file-actions.ts'
import type { DriveFile } from '../../shared/drive/files.ts'

export function RenameField({ file, onDone }: { file: DriveFile; onDone: () => void }) {
  const [name, setName] = useState(file.name)
  const [error, setError] = useState<string | null>(null)
  const field = useRef<HTMLInputElement>(null)
  const over = useRef(false)
  useEffect(() => {
    const ending = file.kind === 'file' ? file.name.lastIndexOf('.') : -1
    field.current!.focus()
    field.current!.setSelectionRange(0, ending > 0 ? ending : file.name.length)
  }, [file.name, file.kind])
  const take = async (): Promise<void> => {
    if (over.current) return
    over.current = true
    try {
      await rename(file, name)
      onDone()
    } catch (failure) {
      over.current = false
      setError(sayError(failure))
      field.current?.focus()
    }
  }
  return (
    <span className="relative block min-w-0 flex-1">
      <input
        ref={field}
        aria-label={`New name of ${file.name}`}
        aria-invalid={error !== null || undefined}
        className="field h-8 min-h-0! py-0.5!"
        value={name}
        onChange={({ target }) => setName(target.value)}
        onClick={(event) => event.stopPropagation()}
        onBlur={() => void take()}
        onKeyDown={(event) => {
          event.stopPropagation()
          if (event.key === 'Enter') void take()
          if (event.key !== 'Escape') return
          over.current = true
          onDone()
        }}
      />
      {error !== null && (
        <span
          role="alert"
          className="absolute inset-x-0 top-full z-10 border border-seal/40 bg-seal-wash px-2 py-1 text-[0.8125rem] text-seal"
        >
          {error}
        </span>
      )}
    </span>
  )
}
