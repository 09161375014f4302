import { useQuery } from '@tanstack/react-query'
import { Outlet, useMatches, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { Uploading } from '../shared/drive/uploads/uploading.tsx'
import { startWorker } from '../shared/service-worker/worker.ts'
import { sessionQuery } from '../shared/session.ts'
import { UnreadBar } from '../ui/dialogs/unread-bar.tsx'
import { Announce } from './announce.tsx'
import { useFollow } from './follow.ts'
import { BottomBar, Drawer, TopBar } from './frame/bars.tsx'
import { Rail } from './frame/rail.tsx'
import { PaletteHost } from './palette/host.tsx'
import { Keyboard } from './keyboard.tsx'
import { LineBar } from './states/line-bar.tsx'
import { VersionBar } from './states/version-bar.tsx'
import { adoptTheme } from './theme.ts'

export function Shell() {
  const { data: session } = useQuery(sessionQuery)
  const router = useRouter()
  const whole = useMatches().some(({ staticData }) => staticData.whole === true)
  useEffect(() => void adoptTheme(), [])
  useEffect(() => void startWorker(), [])
  useFollow(session?.account.id)
  // The session ended: reloading the route shows the sign-in page.
  useEffect(() => {
    if (session === null) void router.invalidate()
  }, [session, router])
  if (!session) return null
  return (
    <Drawer>
      <div className={`flex ${whole ? 'h-dvh' : 'min-h-dvh'}`}>
        <a
          href="#content"
          className="absolute left-2 -translate-y-24 border border-keyline bg-sheet px-4 py-2 focus:z-50 focus:translate-y-2"
        >
          Skip to content
        </a>
        <Rail />
        <div className="flex min-w-0 flex-1 flex-col">
          <TopBar />
          <LineBar />
          <VersionBar />
          <UnreadBar />
          <Announce />
          {whole ? (
            <main id="content" tabIndex={-1} className="relative min-h-0 flex-1 outline-none">
              <Outlet />
            </main>
          ) : (
            <main id="content" tabIndex={-1} className="relative flex-1 outline-none">
              <div aria-hidden="true" className="bokashi pointer-events-none absolute inset-x-0 top-0 -z-10 h-16" />
              <div className="mx-auto max-w-5xl px-4 pt-4 pb-24 rail:px-6 rail:pt-5 wide:px-10">
                <Outlet />
              </div>
            </main>
          )}
        </div>
      </div>
      {!whole && <BottomBar />}
      <Uploading accountId={session.account.id} />
      <PaletteHost />
      <Keyboard />
    </Drawer>
  )
}
