import { useQuery } from '@tanstack/react-query'
import { queryClient } from '../shared/api.ts'
import { browsersQuery } from './queries.ts'
import { Button } from '../ui/button.tsx'
import { say } from '../ui/toast/toast.tsx'
import { Refused } from '../ui/notice.tsx'
import { Section } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { canPush, ownSubscription, startPushes, stopPushes } from '../shared/service-worker/push.ts'

const again = () => queryClient.invalidateQueries({ queryKey: browsersQuery.queryKey })

export function ThisBrowser() {
  const { data: browsers } = useQuery(browsersQuery)
  const start = useSend(startPushes, async () => {
    await again()
    say('Push notifications are on in this browser')
  })
  const stop = useSend(stopPushes, async () => {
    await again()
    say('Push notifications are off in this browser')
  })
  const isOn = browsers?.some(({ id }) => id === ownSubscription()) ?? false
  return (
    <Section
      title="This browser"
      about={
        !canPush()
          ? 'Push notifications aren’t available here. Browsers need HTTPS for them, and some need the app to be installed.'
          : browsers === undefined
            ? undefined
            : isOn
              ? 'This browser receives push notifications, even while the app is closed, until you sign out.'
              : 'Push notifications arrive even while the app is closed, until you sign out.'
      }
      action={
        canPush() && browsers ? (
          isOn ? (
            <Button pending={stop.pending} onClick={() => void stop.send(undefined)}>
              Turn off push notifications
            </Button>
          ) : (
            <Button icon="bell" pending={start.pending} onClick={() => void start.send(undefined)}>
              Turn on push notifications
            </Button>
          )
        ) : undefined
      }
    >
      <Refused>{start.rest() ?? stop.rest()}</Refused>
    </Section>
  )
}
