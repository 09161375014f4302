import { type ReactNode, createContext, use, useEffect, useId } from 'react'

const Level = createContext<2 | 3>(2)

export const useHeadingLevel = (): 2 | 3 => use(Level)

export function Heading({ className, children }: { className: string; children: ReactNode }) {
  const Tag = `h${use(Level)}` as const
  return <Tag className={className}>{children}</Tag>
}

/** The page header: title, lead, and the main action. */
export function Page({
  title,
  view,
  lead,
  action,
  children,
}: {
  title: string
  /** The current tab, if the page has several. */
  view?: string | undefined
  lead?: ReactNode
  action?: ReactNode
  children: ReactNode
}) {
  useEffect(() => {
    document.title = `${view ? `${view} · ` : ''}${title} · Ukiyo`
  }, [title, view])
  return (
    <>
      <header className="mb-5 flex min-h-11 flex-wrap items-center gap-x-5 gap-y-1">
        <h1 className="font-serif text-[1.625rem] leading-9 tracking-[-0.01em]">{title}</h1>
        {lead && (
          <p className="order-last w-full max-w-[84ch] text-[0.8125rem] leading-[1.35] text-quiet wide:order-none wide:w-auto wide:min-w-0 wide:flex-1 wide:basis-64">
            {lead}
          </p>
        )}
        {action && <div className="ml-auto flex gap-2">{action}</div>}
      </header>
      {children}
    </>
  )
}

export function Section({
  title,
  about,
  action,
  children,
}: {
  title: string
  about?: ReactNode
  action?: ReactNode
  children: ReactNode
}) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="mt-8 first:mt-0">
      <div className="mb-3 flex flex-wrap items-end gap-x-6 gap-y-3">
        <div className="min-w-0 flex-1 basis-72">
          <h2 id={id} className="font-serif text-xl leading-tight">
            {title}
          </h2>
          {about && <p className="mt-1 max-w-[72ch] text-sm text-quiet">{about}</p>}
        </div>
        {action}
      </div>
      <Level value={3}>{children}</Level>
    </section>
  )
}

export function Rows({ children, label }: { children: ReactNode; label: string }) {
  return (
    <ul aria-label={label} className="divide-y divide-line border border-line border-t-keyline bg-sheet">
      {children}
    </ul>
  )
}

const tones = {
  plain: 'border-line text-quiet',
  good: 'border-moss/40 text-moss',
  warn: 'border-ochre/45 text-ochre',
  bad: 'border-seal/45 text-seal',
  ai: 'border-ai/35 text-ai',
} as const
export type Tone = keyof typeof tones

export function Tag({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={`inline-block rounded-xs border px-1.5 py-px text-xs leading-5 whitespace-nowrap ${tones[tone]}`}>
      {children}
    </span>
  )
}
