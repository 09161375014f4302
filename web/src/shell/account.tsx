import { uk } from '../api.ts'
import { useAccount } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'
import { useSend } from '../ui/send.ts'
import { ThemeSwitch } from './theme-switch.tsx'

/** The pushes of this browser end with the session, at the server of themselves. */
async function endHere() {
  const ended = await uk.ways_in.sign_out()
  await import('../install/push.ts').then(({ forgetPushes }) => forgetPushes()).catch(() => {})
  return ended
}

export function AccountCorner() {
  const { name, email, administrator } = useAccount()
  // By a new page: nothing of the person who was here stays in the memory of this one.
  const signOut = useSend(endHere, ({ url }) => location.assign(url ?? '/app/sign-in'))
  return (
    <div className="space-y-3 border-t border-line pt-4">
      <div className="px-3 text-sm leading-snug">
        <p className="truncate font-medium" title={name}>
          {name}
        </p>
        <p className="truncate text-[0.8125rem] text-quiet" title={email}>
          {email}
        </p>
        {administrator && <p className="text-[0.8125rem] text-quiet">Administrator</p>}
      </div>
      <ThemeSwitch />
      <Refused>{signOut.rest()}</Refused>
      <Button
        look="quiet"
        icon="out"
        className="w-full justify-start"
        pending={signOut.pending}
        onClick={() => void signOut.send(undefined)}
      >
        Sign out
      </Button>
    </div>
  )
}
