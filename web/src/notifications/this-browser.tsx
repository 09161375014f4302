import { useQuery } from '@tanstack/react-query'
import { queryClient } from '../api.ts'
import { browsersQuery } from './queries.ts'
import { Button } from '../ui/button.tsx'
import { say } from '../ui/dialogs/toast.tsx'
import { Refused } from '../ui/notice.tsx'
import { Section } from '../ui/page.tsx'
import { useSend } from '../ui/send.ts'
import { canPush, ownSubscription, startPushes, stopPushes } from '../install/push.ts'

const again = () => queryClient.invalidateQueries({ queryKey: browsersQuery.queryKey })

/** Whether pushes come to the browser that this page is open in. */
export function ThisBrowser() {
  const { data: browsers } = useQuery(browsersQuery)
  const start = useSend(startPushes, async () => {
    await again()
    say('Pushes come to this browser from now on')
  })
  const stop = useSend(stopPushes, async () => {
    await again()
    say('No pushes come to this browser any more')
  })
  const isOn = browsers?.some(({ id }) => id === ownSubscription()) ?? false
  return (
    <Section
      title="This browser"
      about={
        !canPush()
          ? 'It gets no pushes here: browsers take them over https alone, and some only once the app is installed.'
          : browsers === undefined
            ? undefined
            : isOn
              ? 'It gets your pushes, also when the app is closed, until you sign out.'
              : 'It gets no pushes. They come also when the app is closed, and end with your session.'
      }
      action={
        canPush() && browsers ? (
          isOn ? (
            <Button pending={stop.pending} onClick={() => void stop.send(undefined)}>
              Stop pushes here
            </Button>
          ) : (
            <Button icon="bell" pending={start.pending} onClick={() => void start.send(undefined)}>
              Get pushes here
            </Button>
          )
        ) : undefined
      }
    >
      <Refused>{start.rest() ?? stop.rest()}</Refused>
    </Section>
  )
}
