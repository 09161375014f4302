import { Dialog } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useMatches, useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { startWorker } from '../install/worker.ts'
import { sessionQuery } from '../session.ts'
import { buttonClass } from '../ui/button.tsx'
import { Icon, Seal } from '../ui/icons.tsx'
import { AccountCorner } from './account.tsx'
import { Announce } from './announce.tsx'
import { useFollow } from './follow.ts'
import { Nav } from './nav.tsx'
import { adoptTheme } from './theme.ts'

/** The frame around every page of somebody who is signed in. */
export function Shell() {
  const { data: session } = useQuery(sessionQuery)
  const router = useRouter()
  const whole = useMatches().some(({ staticData }) => staticData.whole === true)
  useEffect(() => void adoptTheme(), [])
  useEffect(() => void startWorker(), [])
  useFollow(session?.account.id)
  // Ended meanwhile, elsewhere or by time: the route is asked again, and it shows the door.
  useEffect(() => {
    if (session === null) void router.invalidate()
  }, [session, router])
  if (!session) return null
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="absolute left-2 -translate-y-24 border border-keyline bg-sheet px-4 py-2 focus:z-50 focus:translate-y-2"
      >
        Skip to the content
      </a>
      <aside className="sticky top-0 hidden h-dvh flex-col gap-6 overflow-y-auto border-r border-line px-3 py-5 lg:flex">
        <Mark />
        <Nav />
        <div className="mt-auto">
          <AccountCorner />
        </div>
      </aside>
      <TopBar />
      <Announce />
      <main id="content" tabIndex={-1} className="relative min-w-0 outline-none">
        {whole ? (
          <Outlet />
        ) : (
          <>
            <div aria-hidden="true" className="bokashi pointer-events-none absolute inset-x-0 top-0 -z-10 h-28" />
            <div className="mx-auto max-w-5xl px-4 pt-8 pb-24 sm:px-8 lg:px-12 lg:pt-12">
              <Outlet />
            </div>
          </>
        )}
      </main>
    </div>
  )
}

function Mark() {
  return (
    <Link to="/" className="flex items-center gap-2.5 px-2 no-underline">
      <Seal className="size-8" />
      <span className="font-serif text-xl tracking-[0.01em]">Ukiyo</span>
    </Link>
  )
}

/** On small screens the same, behind a button. */
function TopBar() {
  const [open, setOpen] = useState(false)
  return (
    <header className="sticky top-0 z-20 flex items-center justify-between border-b border-line bg-paper px-3 py-2 lg:hidden">
      <Mark />
      <Dialog.Root open={open} onOpenChange={setOpen}>
        <Dialog.Trigger aria-label="Menu" className={buttonClass('quiet', true)}>
          <Icon name="menu" className="size-5" />
        </Dialog.Trigger>
        <Dialog.Portal>
          <Dialog.Backdrop className="fixed inset-0 z-30 bg-[#0b1017]/45 transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0" />
          <Dialog.Popup className="fixed inset-y-0 right-0 z-40 flex w-72 max-w-[86vw] flex-col gap-5 border-l border-keyline bg-paper px-3 py-3 outline-none transition-[translate] duration-200 ease-brush data-ending-style:translate-x-full data-starting-style:translate-x-full">
            <div className="flex items-center justify-between">
              <Dialog.Title className="px-3 font-serif text-lg">Menu</Dialog.Title>
              <Dialog.Close aria-label="Close" className={buttonClass('quiet', true)}>
                <Icon name="close" />
              </Dialog.Close>
            </div>
            <Nav onGo={() => setOpen(false)} />
            <div className="mt-auto">
              <AccountCorner />
            </div>
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </header>
  )
}
