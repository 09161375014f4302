import { useAccount } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'
import { useSend } from '../ui/calls/send.ts'
import { inRail } from './nav.tsx'
import { leave } from './sign-out.ts'
import { ThemeSwitch } from './theme-switch.tsx'

export function AccountCorner({ words }: { words: 'always' | 'in-rail' }) {
  const { name, email, administrator } = useAccount()
  const signOut = useSend(leave)
  const label = words === 'always' ? '' : inRail
  return (
    <div className="space-y-2 border-t border-line pt-3">
      <div className={label}>
        <div className="px-3 pb-1 text-sm leading-snug">
          <p className="truncate font-medium" title={name}>
            {name}
          </p>
          <p className="truncate text-[0.8125rem] text-quiet" title={email}>
            {email}
          </p>
          {administrator && <p className="text-[0.8125rem] text-quiet">Administrator</p>}
        </div>
      </div>
      <ThemeSwitch upright={words === 'in-rail'} />
      <Refused>{signOut.rest()}</Refused>
      <Button
        look="quiet"
        icon="out"
        title="Sign out"
        className="w-full justify-start px-3"
        pending={signOut.pending}
        onClick={() => void signOut.send(undefined)}
      >
        <span className={label}>Sign out</span>
      </Button>
    </div>
  )
}
