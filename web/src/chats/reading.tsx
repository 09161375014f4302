import { useState } from 'react'
import { type Workspace, sayError, uk } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'
import type { ChatRights } from './chat-rights.ts'
import type { Chat } from './queries.ts'

/** The line in the place of the composer where nothing can be sent: why, and what makes it otherwise. */
export function Reading({
  chat: { id, status },
  rights,
  place,
  refused,
  onRestored,
}: {
  chat: Chat
  rights: ChatRights
  /** The workspace of the chat, where this person is in it. */
  place: Workspace | null
  refused: string | null
  onRestored: () => void
}) {
  const [error, setError] = useState<string | null>(null)
  if (status === 'active' && rights.write === null) return null
  const restore = (): void =>
    void (status === 'archived' ? uk.chats.unarchive({ id }) : uk.chats.restore({ id })).then(
      onRestored,
      (failure: unknown) => setError(sayError(failure)),
    )
  return (
    <div className="mx-auto flex w-full max-w-[46rem] flex-wrap items-center gap-3 px-4 py-4 text-quiet sm:px-0">
      <p className="flex-1">
        {status !== 'active'
          ? `This chat is ${status}: it can be read, and goes on once it is restored.`
          : place === null
            ? 'This chat is shared with you to be read. Who shared it can let you write in it; a copy of it is yours.'
            : place.status !== 'active'
              ? `${place.name} is ${place.status}: its chats can be read.`
              : `You may read this chat. An owner or admin of ${place.name} can let you write in it; a copy of it is yours.`}
      </p>
      {status !== 'active' && rights.keep && <Button onClick={restore}>Restore</Button>}
      <Refused>{error ?? refused}</Refused>
    </div>
  )
}
