import { useState } from 'react'
import { sayError, uk } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'

/** The line in the place of the composer, in a chat that is archived or in the trash. */
export function Archived({ id, status, onRestored }: { id: string; status: string; onRestored: () => void }) {
  const [error, setError] = useState<string | null>(null)
  const restore = (): void =>
    void (status === 'archived' ? uk.chats.unarchive({ id }) : uk.chats.restore({ id })).then(
      onRestored,
      (failure: unknown) => setError(sayError(failure)),
    )
  return (
    <div className="mx-auto flex w-full max-w-[46rem] flex-wrap items-center gap-3 px-4 py-4 text-quiet sm:px-0">
      <p className="flex-1">This chat is {status}: it can be read, and goes on once it is restored.</p>
      <Button onClick={restore}>Restore</Button>
      <Refused>{error}</Refused>
    </div>
  )
}
