import { queryClient, uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Refused } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { Ago } from '../../ui/text/time.tsx'
import type { Chat } from '../../shared/conversation/queries.ts'

export function TemporaryStrip({ chat: { id, temporary, expires_at }, onKept }: { chat: Chat; onKept: () => void }) {
  const keep = useSend(
    () => uk.chats.update({ id, temporary: false }),
    () => {
      void queryClient.invalidateQueries({ queryKey: ['chats'] })
      onKept()
    },
  )
  if (!temporary) return null
  return (
    <section aria-label="Temporary chat" className="border-b border-line bg-sunk/60 px-4 py-1.5 sm:px-6">
      <div className="mx-auto flex max-w-[46rem] flex-wrap items-center gap-x-3 gap-y-1 text-sm text-quiet">
        <Icon name="clock" className="size-4" />
        <p className="min-w-0 flex-1 basis-56">
          This temporary chat is visible only to you and not searchable. It is deleted{' '}
          {expires_at && <Ago time={expires_at} />}.
        </p>
        <Button look="quiet" className="h-8" pending={keep.pending} onClick={() => void keep.send(undefined)}>
          Keep chat
        </Button>
      </div>
      <Refused>{keep.rest()}</Refused>
    </section>
  )
}
