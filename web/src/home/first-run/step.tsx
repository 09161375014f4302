import type { ReactNode } from 'react'
import { Icon } from '../../ui/icons.tsx'

export function Step({
  number,
  title,
  done,
  children,
}: {
  number: number
  title: string
  done: boolean
  children: ReactNode
}) {
  return (
    <li className="grid grid-cols-[2rem_minmax(0,1fr)] gap-x-3 border border-line border-t-keyline bg-sheet px-4 py-4">
      <span
        aria-hidden="true"
        className={`grid size-7 place-items-center rounded-full border text-sm ${done ? 'border-moss text-moss' : 'border-keyline text-quiet'}`}
      >
        {done ? <Icon name="check" /> : number}
      </span>
      <div className="min-w-0">
        <h2 className="mb-2 font-serif text-lg leading-7">
          {title}
          {done && <span className="sr-only"> (done)</span>}
        </h2>
        {children}
      </div>
    </li>
  )
}
