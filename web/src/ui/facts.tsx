import { Fragment, type ReactNode } from 'react'

/** A description list. Facts without a value are omitted. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[minmax(6rem,auto)_minmax(0,1fr)] gap-x-6 gap-y-1.5 border border-line border-t-keyline bg-sheet px-4 py-4 text-sm">
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== false)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt className="text-quiet">{name}</dt>
            <dd className="figures min-w-0 break-words">{value}</dd>
          </Fragment>
        ))}
    </dl>
  )
}
