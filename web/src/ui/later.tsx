import { type ReactNode, Suspense, useState } from 'react'

/** A button that lazily loads heavy content, such as a menu. Loading starts on hover or focus. */
export function Later({
  load,
  content,
  children,
  popup = 'menu',
  ...button
}: {
  load: () => Promise<unknown>
  content: ReactNode
  /** The lazy component to mount when open. */
  children: ReactNode
  popup?: 'menu' | 'dialog'
  className: string
  title?: string | undefined
  'aria-label'?: string
  tabIndex?: number | undefined
}) {
  const [pressed, setPressed] = useState(false)
  const near = (): void => void load().catch(() => {})
  const press = (): void => setPressed(true)
  const closed = (
    <button
      type="button"
      {...button}
      aria-haspopup={popup}
      aria-expanded={false}
      onPointerEnter={near}
      onFocus={near}
      onClick={press}
      onKeyDown={(event) => {
        if (event.key !== 'ArrowDown') return
        event.preventDefault()
        press()
      }}
    >
      {content}
    </button>
  )
  return pressed ? <Suspense fallback={closed}>{children}</Suspense> : closed
}
