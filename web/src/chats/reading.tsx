import { useState } from 'react'
import { type Workspace, uk } from '../shared/api.ts'
import { sayError } from '../ui/calls/errors.ts'
import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'
import type { ChatRights } from './chat-rights.ts'
import type { Chat } from '../shared/conversation/queries.ts'

/** Replaces the composer when the person can't write: says why, and what to do. */
export function Reading({
  chat: { id, status },
  rights,
  place,
  refused,
  onRestored,
}: {
  chat: Chat
  rights: ChatRights
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
          ? `This chat is ${status}. Restore it to continue.`
          : place === null
            ? 'You can view this shared chat. Ask the person who shared it for edit access, or copy it to continue on your own.'
            : place.status !== 'active'
              ? `${place.name} is ${place.status}, so its chats are read-only.`
              : `You can view this chat. Ask an owner or admin of ${place.name} for edit access, or copy it to continue on your own.`}
      </p>
      {status !== 'active' && rights.keep && <Button onClick={restore}>Restore</Button>}
      <Refused>{error ?? refused}</Refused>
    </div>
  )
}
