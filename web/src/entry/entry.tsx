import { Outlet } from '@tanstack/react-router'
import { UnreadBar } from '../ui/dialogs/unread-bar.tsx'
import { Seal } from '../ui/icons.tsx'
import { Print } from './print.tsx'

export function Entry() {
  return (
    <div className="grid min-h-dvh max-lg:grid-rows-[auto_1fr] lg:grid-cols-[minmax(0,1fr)_minmax(28rem,34rem)]">
      <div className="relative h-52 overflow-hidden border-b border-keyline sm:h-64 lg:h-auto lg:border-r lg:border-b-0">
        {/* On small screens: only the sun and the first wave. */}
        <Print className="absolute inset-x-0 top-0 h-auto w-full max-lg:-translate-y-[29%] lg:size-full" />
        <p
          aria-hidden="true"
          className="absolute top-8 left-8 hidden border border-[#8c8472] bg-[#f6f2e8] px-2.5 py-4 font-serif text-2xl tracking-[0.2em] text-[#1e2329] [writing-mode:vertical-rl] lg:block"
        >
          Ukiyo
        </p>
      </div>
      <main className="flex flex-col px-5 py-8 lg:justify-center sm:px-12">
        <UnreadBar />
        <div className="mx-auto w-full max-w-sm">
          <Seal className="mb-6 size-11" />
          <Outlet />
          <p className="mt-10 text-[0.8125rem] text-quiet">
            <a href="/app/third-party-licences.txt" className="underline">
              Third-party licenses
            </a>
          </p>
        </div>
      </main>
    </div>
  )
}
